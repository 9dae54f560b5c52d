import { appMain, root as rootShape, routes } from '../../src/declaration/schema/schema.ts';
import { type Key, type ObjectShape, optionFor, type Shape } from '../../src/declaration/shape.ts';

/** The keys of one mapping of the configuration, under the name that the documentation gives it. */
export interface Section {
  /** `app_main.apis.<api>.actions.<action>` */
  readonly name: string;
  readonly keys: Readonly<Record<string, Key<unknown>>>;
}

const chosenNames: Readonly<Record<string, string>> = {
  'app_main.apis': '<api>',
  'app_main.apis.<api>.actions': '<action>',
  'app_main.apis.<api>.actions.<action>.parameters': '<parameter>',
  'app_main.apis.<api>.nested': '<association>',
  'app_main.security.api_keys': '<name>',
  'config/routes.yaml': '<entry>',
};

/** Every mapping with given keys, from the root of the configuration down. */
export function sections(): Section[] {
  const found: Section[] = [{ name: 'The root of a file', keys: rootShape.keys }];
  visit(appMain, 'app_main', found);
  visit(routes, 'config/routes.yaml', found);
  return found;
}

function visit(shape: Shape, name: string, found: Section[]): void {
  const mapping = optionFor(shape, 'mapping');
  if (mapping?.kind === 'map') visit(mapping.of, `${name}.${chosenNames[name] ?? '<name>'}`, found);
  if (mapping?.kind !== 'object') return;
  const { keys }: ObjectShape = mapping;
  found.push({ name, keys });
  for (const [key, { shape: below }] of Object.entries(keys)) visit(below, `${name}.${key}`, found);
}

/** The default of a key, as the documentation writes it. */
export function defaultText({ required, defaultNote, default: value }: Key<unknown>): string {
  if (required) return 'required';
  return defaultNote ?? JSON.stringify(value);
}
