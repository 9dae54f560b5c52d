import { appMain, appMainKeys, root, routes } from './schema/schema.ts';
import { type Key, type MapShape, type ObjectShape, optionFor, type Shape } from './shape.ts';

interface Line {
  readonly text: string;
  readonly doc: string;
}

const maxColumn = 48;

const introduction = [
  'Every key of config/*.yaml with its default. The files are read in alphabetical order and merged.',
  'Dashes and underscores in these keys are the same: single-collection, single_collection.',
  '%env(NAME)%, %env(int:NAME)%, %env(bool:NAME)% and %env(default:value:NAME)% are replaced by environment variables;',
  '%% is a percent sign.',
];

/** Divides a comment that begins in a column into lines. */
export type WrapComment = (text: string, column: number) => readonly string[];

/** All keys with their defaults, as YAML that can be read as configuration. */
export function referenceText(wrap: WrapComment = (text) => [text]): string {
  const lines = [{ text: 'app_main:', doc: appMainKeys.root.doc }, ...objectLines(appMain, {}, '  ')];
  const blocks = Object.entries(root.keys).filter(([name]) => name.startsWith('when@'));
  return [
    ...introduction.flatMap((line) => wrap(line, 2)).map((line) => `# ${line}`),
    '',
    ...aligned(lines, wrap),
    '',
    '# Blocks with the same keys for one environment:',
    ...aligned(
      blocks.flatMap(([name, { doc }]) => [
        { text: `# ${name}:`, doc },
        { text: '#   app_main:', doc: appMainKeys.block.doc },
      ]),
      wrap,
    ),
    '',
    '# In config/routes.yaml:',
    ...aligned(exampleLines(routes, '# '), wrap),
    '',
  ].join('\n');
}

function objectLines(shape: ObjectShape, shown: Readonly<Record<string, unknown>>, indent: string): Line[] {
  return Object.entries(shape.keys).flatMap(([name, key]) => {
    const value = Object.hasOwn(shown, name) ? shown[name] : key.shown !== undefined ? key.shown : key.default;
    return keyLines(name, key, value, indent);
  });
}

function keyLines(name: string, key: Key, value: unknown, indent: string): Line[] {
  const doc = docOf(key);
  const below = mappingIn(key.shape);
  if (below?.kind === 'object' && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return [{ text: `${indent}${name}:`, doc }, ...objectLines(below, value as Readonly<Record<string, unknown>>, `${indent}  `)];
  }
  if (below?.kind === 'map') {
    // within a commented key, the example is part of the comment
    const active = below.example.active || indent.includes('#');
    return [
      { text: `${indent}${name}:${active ? '' : ' {}'}`, doc },
      ...exampleLines(below, active ? `${indent}  ` : `${indent}  # `),
    ];
  }
  const line = { text: `${indent}${name}: ${yamlOf(value)}`, doc };
  return below ? [line, ...objectLines(below, {}, `${indent}  # `)] : [line];
}

function exampleLines({ example, of }: MapShape, indent: string): Line[] {
  const text = `${indent}${example.name}:${example.value === undefined ? '' : ` ${example.value}`}`;
  return [{ text, doc: example.note }, ...(of.kind === 'object' ? objectLines(of, {}, `${indent}  `) : [])];
}

/** The shape of a mapping that can be written here, alone or as one of several options. */
function mappingIn(shape: Shape): ObjectShape | MapShape | null {
  const option = optionFor(shape, 'mapping');
  return option?.kind === 'object' || option?.kind === 'map' ? option : null;
}

function docOf({ doc, required, defaultNote, shape }: Key): string {
  const parts = [required ? `Required. ${doc}` : doc];
  const values =
    shape.kind === 'text' ? shape.values : shape.kind === 'list' && shape.of.kind === 'text' ? shape.of.values : undefined;
  if (values && values.length > 1) parts.push(`One of: ${values.join(', ')}.`);
  if (defaultNote) parts.push(`Default: ${defaultNote}.`);
  return parts.join(' ');
}

function yamlOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(yamlOf).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  if (typeof value !== 'string') return String(value);
  return /^[A-Za-z/][\w:/.-]*$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

/** Comments begin in the same column, except after lines that are too long for it. */
function aligned(lines: readonly Line[], wrap: WrapComment): string[] {
  const column = Math.min(maxColumn, Math.max(...lines.map(({ text }) => text.length)));
  return lines.flatMap(({ text, doc }) => {
    if (doc === '') return [text];
    const comments = wrap(doc, Math.max(column, text.length) + '  # '.length);
    return comments.map((comment, index) => `${(index === 0 ? text : '').padEnd(column)}  # ${comment}`);
  });
}
