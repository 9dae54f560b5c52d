import { defineEntity, EntitySchema, p, Type } from '@mikro-orm/core';

type Any = any;

/** A model with something that few models have, and requests for it. */
export interface Unusual {
  readonly name: string;
  /** The first one has the API. */
  readonly models: readonly Any[];
  /** Bodies of POST, and of PUT for the rows that they created. */
  readonly bodies: readonly Record<string, unknown>[];
  readonly patch: Record<string, unknown>;
  readonly nested?: Record<string, unknown>;
  /** Rows that exist before. */
  readonly rows?: readonly (readonly [model: Any, rows: readonly object[]])[];
  /** The ids that are possible in paths; by default numbers. */
  readonly ids?: string;
  readonly only?: 'postgresql';
}

const rw = ['read', 'write'] as const;
const id = () => p.integer().primary().groups('read');
const text = () => p.string().groups(...rw);
const number = () => p.integer().groups(...rw);
const entity = (name: string, properties: Any, more: Any = {}): Any => defineEntity({ name, properties, ...more });
/** A model to refer to, with three rows. */
const target = (more: Any = {}) => {
  const model = entity('Target', { id: id(), n: text() }, more);
  return [model, ['b', 'd', 'c'].map((n, i) => ({ id: i + 1, n }))] as const;
};
const uuid = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';

/** Made anew for each application, because MikroORM changes what it is given. */
export const unusual: readonly (() => Unusual)[] = [
  () => ({
    name: 'a UUID that the server makes',
    ids: '.+',
    models: [
      entity('A', {
        id: p
          .uuid()
          .primary()
          .groups('read')
          .onCreate(() => uuid),
        t: text(),
      }),
    ],
    bodies: [{ t: 'x' }],
    patch: { t: 'y' },
  }),
  () => ({
    name: 'a text as key, with characters that have a meaning in paths',
    ids: '.+',
    models: [
      entity('A', {
        id: p
          .string()
          .primary()
          .groups(...rw),
        t: text(),
      }),
    ],
    bodies: [{ id: `a b/c,d%25'"é.json`, t: 'x' }],
    patch: { t: 'y' },
  }),
  () => ({
    name: 'a date as key',
    ids: '.+',
    models: [
      entity('A', {
        id: p
          .date()
          .primary()
          .groups(...rw),
        t: text(),
      }),
    ],
    bodies: [{ id: '2024-01-02', t: 'x' }],
    patch: { t: 'y' },
  }),
  () => {
    const a: Any = entity('A', {
      id: id(),
      t: text(),
      parent: () =>
        p
          .manyToOne(a)
          .nullable()
          .groups(...rw),
      children: () => p.oneToMany(a).mappedBy('parent').groups('read'),
      friends: () => p.manyToMany(a).groups(...rw),
    });
    const bodies = [{ t: 'x' }, { t: 'y', parent: { id: 1 }, friends: [{ id: 1 }] }];
    return { name: 'associations to itself', models: [a], bodies, patch: { friends: [], parent: null } };
  },
  () => {
    const [b, rows] = target();
    const a = entity('A', {
      b: () =>
        p
          .oneToOne(b)
          .primary()
          .owner()
          .groups(...rw),
      t: text(),
    });
    return {
      name: 'a reference as key',
      models: [a, b],
      rows: [[b, rows]],
      bodies: [{ b: { id: 1 }, t: 'x' }],
      patch: { t: 'y' },
    };
  },
  () => {
    const [b, rows] = target();
    const a = entity('A', {
      b: () =>
        p
          .manyToOne(b)
          .primary()
          .groups(...rw),
      no: p
        .integer()
        .primary()
        .groups(...rw),
      t: text(),
    });
    const bodies = [{ b: { id: 1 }, no: 7, t: 'x' }];
    return { name: 'a key with a reference', models: [a, b], rows: [[b, rows]], bodies, patch: { t: 'y' } };
  },
  () => {
    const b: Any = entity('B', { id: id(), n: text(), a: () => p.oneToOne(a).mappedBy('b').nullable().groups('read') });
    const a: Any = entity('A', {
      id: id(),
      t: text(),
      b: () =>
        p
          .oneToOne(b)
          .inversedBy('a')
          .nullable()
          .groups(...rw),
    });
    const rows = [
      { id: 1, n: 'b' },
      { id: 2, n: 'c' },
    ];
    const bodies = [{ t: 'x', b: { id: 1 } }, { t: 'z' }];
    return { name: 'a one-to-one association', models: [a, b], rows: [[b, rows]], bodies, patch: { b: { id: 2 } } };
  },
  () => ({
    name: 'names that differ between JSON, model and table',
    models: [
      entity(
        'A',
        {
          id: id(),
          firstName: text().name('fname'),
          ser: text().serializedName('shown_as'),
          order: text(),
          select: p
            .string()
            .name('weird "col"')
            .nullable()
            .groups(...rw),
          __x: p
            .string()
            .nullable()
            .groups(...rw),
        },
        { tableName: 'odd table"name' },
      ),
    ],
    bodies: [{ firstName: 'x', shown_as: 'q', order: 'o', __x: '1' }],
    patch: { order: 'y', select: 's' },
  }),
  () => ({
    name: 'columns that the database computes',
    models: [
      entity('A', {
        id: id(),
        t: text(),
        up: p
          .string()
          .formula((c: Any) => `upper(${c.t})`)
          .groups('read'),
        len: p.integer().generated('(length(t)) stored').nullable().groups('read'),
        made: p
          .string()
          .defaultRaw("'made'")
          .groups(...rw),
      }),
    ],
    bodies: [{ t: 'x' }, { t: 'y', made: 'sent' }],
    patch: { t: 'yy' },
  }),
  () => ({
    name: 'a value of each type',
    models: [
      entity('A', {
        id: id(),
        d: p.date().groups(...rw),
        dt: p.datetime().groups(...rw),
        ti: p.time().groups(...rw),
        dec: p
          .decimal()
          .precision(10)
          .scale(2)
          .groups(...rw),
        fl: p.float().groups(...rw),
        big: p.bigint().groups(...rw),
        blob: p.blob().groups(...rw),
        arr: p.array().groups(...rw),
        js: p.json().groups(...rw),
        en: p.enum(['a', 'b']).groups(...rw),
        enarr: p
          .enum(['a', 'b'])
          .array()
          .groups(...rw),
        ch: p
          .character()
          .length(3)
          .groups(...rw),
        iv: p
          .interval()
          .nullable()
          .groups(...rw),
        tiny: p.tinyint().groups(...rw),
        uu: p.uuid().groups(...rw),
      }),
    ],
    bodies: [
      {
        d: '2024-02-29',
        dt: '2024-02-29T10:00:00Z',
        ti: '10:11:12',
        dec: '12.50',
        fl: 1.5,
        big: '9007199254740993',
        blob: 'aGk=',
        arr: ['a,b', ''],
        js: { z: 1, a: [null] },
        en: 'a',
        enarr: ['b'],
        ch: 'abc',
        iv: '1 day',
        tiny: 2,
        uu: uuid,
      },
    ],
    patch: { js: { a: null, q: 1 }, arr: [], enarr: ['a', 'b'], dec: '0.10' },
  }),
  () => {
    const country = target()[0];
    const point = entity(
      'Point',
      {
        lat: p.double().groups(...rw),
        lng: p
          .double()
          .nullable()
          .groups(...rw),
      },
      { embeddable: true },
    );
    const place = entity(
      'Place',
      {
        street: text(),
        point: () =>
          p
            .embedded(point)
            .nullable()
            .groups(...rw),
        country: () =>
          p
            .manyToOne(country)
            .nullable()
            .groups(...rw),
      },
      { embeddable: true },
    );
    const spot = entity(
      'Spot',
      {
        street: text(),
        point: () =>
          p
            .embedded(point)
            .nullable()
            .groups(...rw),
      },
      { embeddable: true },
    );
    const a = entity('A', {
      id: id(),
      home: () =>
        p
          .embedded(place)
          .prefix('h_')
          .groups(...rw),
      work: () =>
        p
          .embedded(place)
          .nullable()
          .groups(...rw),
      raw: () =>
        p
          .embedded(spot)
          .object()
          .nullable()
          .groups(...rw),
      many: () =>
        p
          .embedded(spot)
          .array()
          .groups(...rw),
      flat: () =>
        p
          .embedded(point)
          .prefix(false)
          .groups(...rw),
    });
    return {
      name: 'embedded objects of each kind',
      models: [a, country, point, place, spot],
      rows: [[country, target()[1]]],
      bodies: [
        {
          home: { street: 's', point: { lat: 1, lng: 2 }, country: { id: 1 } },
          work: null,
          raw: { street: 'r', point: null },
          many: [{ street: 'm' }],
          flat: { lat: 5 },
        },
        { home: { street: 's' }, work: { street: 'w', country: { id: 2 } }, many: [], flat: { lat: 5, lng: 1 } },
      ],
      patch: { home: { point: { lat: 9 }, country: { id: 2 } }, work: { street: 'w' }, raw: { street: 'q' } },
    };
  },
  () => {
    const pet = { abstract: true, embeddable: true, discriminatorColumn: 'kind' };
    const base = entity('Pet', { kind: p.enum(['cat', 'dog']).groups(...rw), name: text() }, pet);
    const kindOf = (name: string, properties: Any) =>
      entity(name, properties, { extends: base, embeddable: true, discriminatorValue: name.toLowerCase() });
    const cat = kindOf('Cat', {
      lives: p
        .integer()
        .nullable()
        .groups(...rw),
    });
    const dog = kindOf('Dog', {
      tricks: p
        .string()
        .nullable()
        .groups(...rw),
    });
    const a = entity('A', {
      id: id(),
      pet: () =>
        p
          .embedded([cat, dog] as Any)
          .nullable()
          .groups(...rw),
      pets: () =>
        p
          .embedded([cat, dog] as Any)
          .array()
          .groups(...rw),
    });
    return {
      name: 'embedded objects of several classes',
      models: [a, base, cat, dog],
      bodies: [
        {
          pet: { kind: 'cat', name: 'a', lives: 9 },
          pets: [
            { kind: 'dog', name: 'd', tricks: 't' },
            { kind: 'cat', name: 'c' },
          ],
        },
        { pets: [] },
      ],
      patch: { pet: { kind: 'dog', name: 'z', tricks: 'q' } },
    };
  },
  () => {
    const a = entity('A', { id: id(), t: text() }, { inheritance: 'tpt' });
    const c = entity(
      'C',
      {
        x: p
          .integer()
          .nullable()
          .groups(...rw),
      },
      { extends: a },
    );
    const d = entity(
      'D',
      {
        y: p
          .integer()
          .nullable()
          .groups(...rw),
      },
      { extends: c },
    );
    const bodies = [
      { type: 'c', t: 'x', x: 1 },
      { type: 'd', t: 'x', x: 1, y: 2 },
    ];
    return { name: 'a table for each class', models: [a, c, d], bodies, patch: { t: 'y' } };
  },
  () => {
    const a = entity('A', { id: id(), t: text() }, { discriminatorColumn: 'dtype' });
    const c = entity(
      'C',
      {
        x: p
          .integer()
          .nullable()
          .groups(...rw),
      },
      { extends: a },
    );
    const bodies = [{ type: 'c', t: 'x', x: 1 }, { type: 'a', t: 'x' }, { t: 'no type' }];
    return { name: 'a discriminator without a property', models: [a, c], bodies, patch: { t: 'y' } };
  },
  () => {
    const map = { p: 'P', q: 'Q', r: 'R' };
    const a: Any = entity(
      'P',
      {
        id: id(),
        kind: p.enum(['p', 'q', 'r']).groups('read'),
        t: text(),
        up: () =>
          p
            .manyToOne(a)
            .nullable()
            .groups(...rw),
        q: () =>
          p
            .manyToOne(q)
            .nullable()
            .groups(...rw),
        kids: () => p.oneToMany(a).mappedBy('up').groups('read'),
      },
      { discriminator: 'kind', discriminatorMap: map },
    );
    const q: Any = entity(
      'Q',
      {
        x: p
          .integer()
          .nullable()
          .groups(...rw),
      },
      { extends: a },
    );
    const r: Any = entity(
      'R',
      {
        y: p
          .integer()
          .nullable()
          .groups(...rw),
      },
      { extends: q },
    );
    return {
      name: 'three levels of classes that refer to each other',
      models: [a, q, r],
      bodies: [
        { kind: 'p', t: 'a' },
        { type: 'q', t: 'b', x: 1, up: { id: 1 } },
        { kind: 'r', t: 'c', x: 1, y: 2, up: { id: 2 }, q: { id: 2 } },
        { kind: 'p', t: 'no q', q: { id: 1 } },
      ],
      patch: { t: 'z', q: null },
    };
  },
  () => ({
    name: 'lazy columns and a version',
    models: [
      entity('A', {
        id: id(),
        v: p.integer().version().groups('read'),
        t: text(),
        big: p
          .text()
          .lazy()
          .nullable()
          .groups(...rw),
        wrapped: p
          .text()
          .lazy()
          .ref()
          .nullable()
          .groups(...rw),
        json: p
          .json()
          .lazy()
          .nullable()
          .groups(...rw),
      }),
    ],
    bodies: [
      { t: 'x', big: 'b', wrapped: 'w', json: { a: 1 } },
      { t: 'z', big: null },
    ],
    patch: { big: 'c', wrapped: 'u', json: { b: 2 } },
  }),
  () => ({
    name: 'references to values',
    models: [
      entity('A', {
        id: id(),
        t: text(),
        opt: p
          .string()
          .nullable()
          .ref()
          .groups(...rw),
      }),
    ],
    bodies: [{ t: 'x', opt: 'o' }, { t: 'y' }],
    patch: { opt: 'p' },
  }),
  () => {
    const [b, rows] = target();
    const a = entity('A', {
      id: id(),
      r: () =>
        p
          .manyToOne(b)
          .ref()
          .nullable()
          .groups(...rw),
      k: () =>
        p
          .manyToOne(b)
          .mapToPk()
          .nullable()
          .groups(...rw),
      e: () =>
        p
          .manyToOne(b)
          .eager()
          .nullable()
          .groups(...rw),
    });
    const bodies = [{ r: { id: 1 }, k: { id: 1 }, e: { id: 2 } }, { k: 1 }, {}];
    const patch = { r: null, k: { id: 2 }, e: { id: 1 } };
    return { name: 'references as objects, as keys and loaded eagerly', models: [a, b], rows: [[b, rows]], bodies, patch };
  },
  () => {
    const [b, rows] = target();
    const link: Any = entity('Link', {
      a: () =>
        p
          .manyToOne(a)
          .primary()
          .groups(...rw),
      b: () =>
        p
          .manyToOne(b)
          .primary()
          .groups(...rw),
      qty: p
        .integer()
        .default(1)
        .groups(...rw),
    });
    const a: Any = entity('A', {
      id: id(),
      t: text(),
      bs: () =>
        p
          .manyToMany(b)
          .pivotEntity(() => link)
          .groups(...rw),
      links: () => p.oneToMany(link).mappedBy('a').groups('read'),
    });
    const bodies = [{ t: 'x', bs: [{ id: 1 }] }, { t: 'y' }];
    return { name: 'a model for a pivot table', models: [a, b, link], rows: [[b, rows]], bodies, patch: { bs: [{ id: 2 }] } };
  },
  () => {
    const [b, rows] = target();
    const link: Any = entity('Link', {
      a: () => p.manyToOne(a).primary(),
      b: () =>
        p
          .manyToOne(b)
          .primary()
          .groups(...rw),
      qty: number().default(1),
    });
    const a: Any = entity('A', {
      id: id(),
      t: text(),
      bs: () =>
        p
          .manyToMany(b)
          .pivotEntity(() => link)
          .groups(...rw),
      links: () => p.oneToMany(link).mappedBy('a').groups('read'),
    });
    return {
      name: 'a model for a pivot table whose rows are written with their owner',
      models: [a, b, link],
      rows: [[b, rows]],
      nested: { links: {} },
      bodies: [
        { t: 'x', links: [{ b: { id: 2 }, qty: 4 }] },
        { t: 'y', bs: [{ id: 1 }] },
        { t: 'z', bs: [{ id: 1 }], links: [{ b: { id: 3 } }] },
      ],
      patch: { links: [{ b: { id: 1 } }] },
    };
  },
  () => {
    const [b, rows] = target();
    const link: Any = entity('Link', {
      a: () =>
        p
          .manyToOne(a)
          .primary()
          .groups(...rw),
      b: () =>
        p
          .manyToOne(b)
          .primary()
          .groups(...rw),
      qty: p
        .integer()
        .default(1)
        .groups(...rw),
    });
    const a: Any = entity('A', {
      id: id(),
      t: text(),
      bs: () =>
        p
          .manyToMany(b)
          .pivotEntity(() => link)
          .groups(...rw),
    });
    const bodies = [
      { a: { id: 5 }, b: { id: 1 }, qty: 3 },
      { a: { id: 5 }, b: { id: 2 } },
    ];
    return {
      name: 'an API over a pivot table',
      models: [link, a, b],
      rows: [
        [b, rows],
        [a, [{ id: 5, t: 'x' }]],
      ],
      bodies,
      patch: { qty: 9 },
    };
  },
  ...(['fixed', 'declared'] as const).map((kind) => () => {
    const [b, rows] = target();
    const list = () =>
      (kind === 'fixed' ? p.manyToMany(b).fixedOrder() : p.manyToMany(b).orderBy({ n: 'desc' } as Any)).groups(...rw);
    const bodies = [{ t: 'x', bs: [{ id: 1 }, { id: 3 }] }];
    const patch = { bs: [{ id: 2 }, { id: 3 }, { id: 1 }] };
    return {
      name: `a many-to-many association with a ${kind} order`,
      models: [entity('A', { id: id(), t: text(), bs: list }), b],
      rows: [[b, rows]] as const,
      bodies,
      patch,
    };
  }),
  () => {
    const item: Any = entity('Item', { id: id(), pos: number(), a: () => p.manyToOne(a) });
    const items = () =>
      p
        .oneToMany(item)
        .mappedBy('a')
        .orphanRemoval()
        .orderBy({ pos: 'desc' } as Any)
        .groups(...rw);
    const a: Any = entity('A', { id: id(), t: text(), items });
    const bodies = [{ t: 'x', items: [{ pos: 1 }, { pos: 2 }] }];
    return {
      name: 'rows that are created in a declared order',
      models: [a, item],
      nested: { items: {} },
      bodies,
      patch: { items: [] },
    };
  },
  () => {
    const item: Any = entity('Item', { id: id(), pos: number(), a: () => p.manyToOne(a).nullable() });
    const a: Any = entity('A', {
      id: id(),
      t: text(),
      items: () =>
        p
          .oneToMany(item)
          .mappedBy('a')
          .orderBy({ pos: 'desc' } as Any)
          .groups(...rw),
    });
    const rows = [2, 9, 5].map((pos, i) => ({ id: i + 1, pos }));
    const bodies = [{ t: 'x', items: [{ id: 1 }, { id: 2 }] }];
    const patch = { items: [{ id: 1 }, { id: 3 }, { id: 2 }] };
    return { name: 'a one-to-many association with a declared order', models: [a, item], rows: [[item, rows]], bodies, patch };
  },
  () => {
    const b: Any = entity('B', { id: id(), n: text(), gone: p.boolean().default(false), a: () => p.manyToOne(a).nullable() });
    const all = () => p.oneToMany(b).mappedBy('a').groups('read');
    const a: Any = entity('A', { id: id(), t: text(), live: () => all().where({ gone: false } as Any), all });
    const rows = [
      { id: 1, n: 'b', a: 50 },
      { id: 2, n: 'c', gone: true, a: 50 },
    ];
    return {
      name: 'an association with a condition',
      models: [a, b],
      rows: [
        [a, [{ id: 50, t: 'b' }]],
        [b, rows],
      ],
      bodies: [{ t: 'x' }],
      patch: { t: 'y' },
    };
  },
  () => {
    const b: Any = entity('B', {
      id: id(),
      n: text(),
      as: () =>
        p
          .manyToMany(a)
          .mappedBy('bs')
          .groups(...rw),
    });
    const a: Any = entity('A', {
      id: id(),
      t: text(),
      bs: () =>
        p
          .manyToMany(b)
          .inversedBy('as')
          .groups(...rw),
    });
    const rows = ['b', 'c', 'd'].map((t, i) => ({ id: i + 1, t }));
    const bodies = [{ n: 'x', as: [{ id: 3 }, { id: 1 }] }];
    return {
      name: 'the inverse side of a many-to-many association',
      models: [b, a],
      rows: [[a, rows]],
      bodies,
      patch: { as: [{ id: 2 }, { id: 1 }] },
    };
  },
  () => {
    const [b, rows] = target({ schema: 'other' });
    const associations = {
      b: () =>
        p
          .manyToOne(b)
          .nullable()
          .groups(...rw),
      bs: () => p.manyToMany(b).groups(...rw),
    };
    const a = entity('A', { id: id(), t: text(), ...associations }, { schema: 'other' });
    const bodies = [{ t: 'x', b: { id: 1 }, bs: [{ id: 2 }] }];
    return {
      name: 'a schema',
      only: 'postgresql',
      models: [a, b],
      rows: [[b, rows]],
      bodies,
      patch: { bs: [{ id: 1 }], b: null },
    };
  },
  () => {
    const filters = { live: { name: 'live', cond: { gone: false }, default: true } };
    const a = entity(
      'A',
      {
        id: id(),
        t: text(),
        gone: p
          .boolean()
          .default(false)
          .groups(...rw),
      },
      { filters },
    );
    return { name: 'a default filter', models: [a], bodies: [{ t: 'x' }, { t: 'y', gone: true }], patch: { gone: true } };
  },
  () => {
    const [b, rows] = target();
    const reference = () =>
      p
        .manyToOne(b)
        .nullable()
        .updateRule('cascade')
        .deleteRule('cascade')
        .groups(...rw);
    const a = entity(
      'A',
      { id: id(), t: text(), n: number().check('n > 0'), b: reference },
      { uniques: [{ properties: ['t', 'b'] }] },
    );
    const bodies = [
      { t: 'x', n: 1, b: { id: 1 } },
      { t: 'x', n: 2, b: { id: 1 } },
      { t: 'y', n: 0 },
      { t: 'x', n: 1 },
    ];
    return { name: 'rules of the database', models: [a, b], rows: [[b, rows]], bodies, patch: { n: -1 } };
  },
  () => ({
    name: 'values that code makes',
    models: [
      entity('A', {
        id: id(),
        e: p
          .enum(['low', 'mid', 'high'])
          .customOrder('low', 'mid', 'high')
          .groups(...rw),
        s: text().serializer((value: unknown) => `<${value}>`),
        w: p
          .string()
          .onCreate((made: Any) => `w-${made.e}`)
          .groups('read'),
        up: p
          .string()
          .onCreate(() => 'new')
          .onUpdate(() => 'changed')
          .groups('read'),
      }),
    ],
    bodies: [
      { e: 'high', s: 'q' },
      { e: 'low', s: 'w' },
    ],
    patch: { e: 'mid' },
  }),
  () => {
    class Money {
      readonly cents: number;
      constructor(cents: number) {
        this.cents = cents;
      }
      toJSON() {
        return { cents: this.cents };
      }
    }
    class MoneyType extends Type<Money, number> {
      override convertToDatabaseValue(value: Any) {
        return value?.cents ?? value;
      }
      override convertToJSValue(value: Any) {
        return value === null ? value : new Money(value);
      }
      override getColumnType() {
        return 'integer';
      }
    }
    const a = entity('A', { id: id(), m: p.type(MoneyType as Any).groups(...rw) });
    return { name: 'objects of a type of its own', models: [a], bodies: [{ m: { cents: 5 } }], patch: { m: { cents: 6 } } };
  },
  () => {
    const properties = {
      id: { type: 'integer', primary: true, groups: ['read'] },
      t: { type: 'string', groups: [...rw] },
      opt: { type: 'string', nullable: true, groups: [...rw], length: 5 },
    };
    const a = new EntitySchema({ name: 'A', properties } as Any);
    return {
      name: 'a schema in MikroORM’s older form',
      models: [a],
      bodies: [{ t: 'x' }, { t: 'y', opt: 'too long' }],
      patch: { opt: 'k' },
    };
  },
];
