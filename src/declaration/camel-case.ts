type Camel<Name> = Name extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<Camel<Rest>>}` : Name;

/** The same mapping with its keys, and those of mappings in it, in camel case: `max_offset` → `maxOffset`. */
export type CamelCased<Written> = Written extends readonly unknown[]
  ? Written
  : Written extends object
    ? { readonly [Name in keyof Written as Camel<Name>]: CamelCased<Written[Name]> }
    : Written;

export function camelCased<Written>(written: Written): CamelCased<Written>;
export function camelCased(written: unknown): unknown {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return written;
  return Object.fromEntries(
    Object.entries(written).map(([name, value]) => [
      name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      camelCased(value),
    ]),
  );
}
