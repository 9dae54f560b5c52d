import { randomNumbers } from '../explorer/generated-application.ts';

/** Random applications as plain values: models with groups by role, and APIs over them. */
export interface ApplicationSpec {
  readonly models: readonly ModelSpec[];
  readonly apis: readonly ApiSpec[];
}

export type ColumnKind = 'string' | 'integer' | 'boolean' | 'json';

export interface PropertySpec {
  readonly name: string;
  /** The key in JSON. */
  readonly json: string;
  readonly groups: readonly string[];
  readonly hidden: boolean;
}

export interface ColumnSpec extends PropertySpec {
  readonly kind: ColumnKind;
}

/** Returns the value of a column. */
export interface GetterSpec extends PropertySpec {
  readonly of: string;
}

export interface EmbeddedSpec extends PropertySpec {
  readonly nullable: boolean;
  readonly form: 'inline' | 'object';
  readonly parts: readonly ColumnSpec[];
}

export interface LinkSpec extends PropertySpec {
  readonly kind: 'to-one' | 'to-many' | 'reverse';
  readonly to: string;
  /** The to-one association on the other side of `reverse`. */
  readonly mappedBy?: string;
}

export interface ModelSpec {
  readonly name: string;
  /** The root class of its table. */
  readonly root: string;
  readonly id: PropertySpec;
  /** The discriminator. */
  readonly type: PropertySpec | null;
  readonly columns: readonly ColumnSpec[];
  readonly getters: readonly GetterSpec[];
  readonly embedded: readonly EmbeddedSpec[];
  readonly links: readonly LinkSpec[];
  /** Its APIs hide the rows that are not shown. */
  readonly restricted: boolean;
  readonly versioned: boolean;
  /** Has rules, which get the rows that a body refers to. */
  readonly ruled: boolean;
}

export interface GroupsSpec {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
}

export interface ApiSpec {
  readonly name: string;
  readonly model: string;
  readonly groups: GroupsSpec;
  readonly index: GroupsSpec;
  readonly entity: GroupsSpec;
  /** Its controller has hooks, so rows are read as entities. */
  readonly hooks: boolean;
  readonly pageSize: number;
  /** Chooses among the fields that the list may be filtered, sorted and searched by. */
  readonly choices: readonly number[];
}

/** The roles of groups. Other groups apply to everyone. */
export const boundGroups: Readonly<Record<string, string>> = {
  'read:a': 'ROLE_A',
  'write:a': 'ROLE_A',
  'read:b': 'SEE_B',
  'write:b': 'SEE_B',
  'read:own': 'OWN',
  'write:own': 'OWN',
};

export type Random = ReturnType<typeof chance>;

export function chance(seed: number) {
  const next = randomNumbers(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    is: (probability: number) => next() < probability,
    one: <Item>(items: readonly Item[]) => items[below(items.length)] as Item,
    some: <Item>(items: readonly Item[], probability = 0.5) => items.filter(() => next() < probability),
    shuffled: <Item>(items: readonly Item[]) =>
      items
        .map((item) => [next(), item] as const)
        .sort(([a], [b]) => a - b)
        .map(([, item]) => item),
  };
}

const readChoices = [
  ['read'],
  ['read'],
  ['read', 'short'],
  ['short'],
  ['read:a'],
  ['read:a'],
  ['read:a', 'read:b'],
  ['read:b'],
  ['read:own'],
  ['short', 'read:own'],
  [],
];
const writeChoices = [['write'], ['write'], ['write:a'], ['write:b'], ['write:own'], ['write:a', 'write:own'], []];

/** Makes names that no other text of a response contains. */
function namer(random: Random): () => string {
  const taken = new Set<string>();
  const consonants = [...'bdfgklmnprstvwxz'];
  return () => {
    for (;;) {
      const name = `k${random.one(consonants)}${random.one(consonants)}${random.one(consonants)}j`;
      if (!taken.has(name)) {
        taken.add(name);
        return name;
      }
    }
  };
}

export function randomApplication(seed: number): ApplicationSpec {
  const random = chance(seed);
  const name = namer(random);
  const property = (isWritten = true): PropertySpec => {
    const own = name();
    return {
      name: own,
      json: random.is(0.25) ? name() : own,
      groups: [...random.one(readChoices), ...(isWritten ? random.one(writeChoices) : [])],
      hidden: random.is(0.05),
    };
  };
  const column = (): ColumnSpec => ({
    ...property(),
    kind: random.one<ColumnKind>(['string', 'string', 'string', 'integer', 'integer', 'boolean', 'json']),
  });
  const columns = (count: number) => Array.from({ length: count }, column);
  const embedded = (): EmbeddedSpec => ({
    ...property(),
    nullable: random.is(0.6),
    form: random.one(['inline', 'object']),
    // within an object, JSON would be inside JSON
    parts: columns(2 + random.below(2)).map((part) => ({ ...part, kind: part.kind === 'json' ? 'string' : part.kind })),
  });
  const link = (kind: LinkSpec['kind'], to: string, mappedBy?: string): LinkSpec => ({
    ...property(kind !== 'reverse'),
    kind,
    to,
    ...(mappedBy !== undefined && { mappedBy }),
  });
  const id = (): PropertySpec => ({
    name: 'id',
    json: 'id',
    groups: random.is(0.85) ? ['read', 'short'] : ['read:a', 'short'],
    hidden: false,
  });
  const model = (modelName: string, more: Partial<ModelSpec>): ModelSpec => {
    const own = more.columns ?? columns(3 + random.below(3));
    const getter: GetterSpec = { ...property(false), of: random.one(own).name };
    return {
      name: modelName,
      root: modelName,
      id: id(),
      type: null,
      columns: own,
      getters: random.is(0.5) ? [getter] : [],
      embedded: [],
      links: [],
      restricted: random.is(0.4),
      versioned: random.is(0.3),
      ruled: random.is(0.6),
      ...more,
    };
  };
  const toSpot = link('to-one', 'Spot');
  const root = model('Beast', {
    type: { name: 'type', json: 'type', groups: random.is(0.7) ? ['read', 'short'] : ['read:b'], hidden: false },
    links: [link('to-one', 'Spot')],
    versioned: false,
    getters: [],
  });
  const models = [
    model('Ware', {
      embedded: random.is(0.5) ? [embedded()] : [],
      links: [toSpot, link('to-many', 'Label'), link('to-one', 'Beast')],
    }),
    model('Label', {}),
    model('Spot', {
      links: [link('reverse', 'Ware', toSpot.name), link('to-one', 'Label')],
      embedded: random.is(0.5) ? [embedded()] : [],
    }),
    root,
    {
      ...model('Cat', { columns: columns(2), getters: [] }),
      root: 'Beast',
      id: root.id,
      type: root.type,
      restricted: root.restricted,
      versioned: false,
    },
  ];
  return { models, apis: models.filter(({ name: own, root: top }) => own === top).flatMap((spec) => apisOf(spec, random)) };
}

function apisOf(spec: ModelSpec, random: Random): ApiSpec[] {
  const groupsOf = (direction: 'read' | 'write'): readonly string[] | undefined => {
    if (random.is(0.15)) return undefined;
    const bound = random.some(
      ['a', 'b', 'own'].map((role) => `${direction}:${role}`),
      0.7,
    );
    const free =
      direction === 'read'
        ? random.one([['read'], ['read'], ['read', 'short'], ['short'], []])
        : random.one([['write'], ['write'], []]);
    const all = random.shuffled([...free, ...bound]);
    return all.length > 0 ? all : undefined;
  };
  const groups = (probability: number): GroupsSpec => {
    const read = random.is(probability) ? groupsOf('read') : undefined;
    const write = random.is(probability) ? groupsOf('write') : undefined;
    return { ...(read && { read }), ...(write && { write }) };
  };
  return Array.from({ length: random.is(0.4) ? 2 : 1 }, (_, number) => ({
    name: `${spec.name.toLowerCase()}${number}`,
    model: spec.name,
    groups: groups(0.95),
    index: groups(0.35),
    entity: groups(0.25),
    hooks: random.is(0.3),
    pageSize: 2 + random.below(4),
    choices: Array.from({ length: 40 }, () => random.next()),
  }));
}
