import type { Member, SourceText } from './source-text.ts';

/** The offset of the options of the `defineEntity` that defines a model. */
export function schemaOf(text: SourceText, name: string): number | null {
  for (const open of text.objects(/(?:defineEntity|EntitySchema(?:<[^>]*>)?)\s*\(\s*/)) {
    const defines = text.membersAt(open).some((member) => {
      if (member.key === 'name') return isText(text.textOf(member), name);
      return member.key === 'class' && new RegExp(`:\\s*${escaped(name)}\\s*$`).test(text.textOf(member));
    });
    if (defines) return open;
  }
  return null;
}

/** The member that describes a property in the options of a model. */
export function memberOf(text: SourceText, model: string, property: string): Member | undefined {
  const schema = schemaOf(text, model);
  const properties = schema === null ? undefined : text.membersAt(schema).find(({ key }) => key === 'properties');
  return properties && text.membersAt(properties.start).find(({ key }) => key === property);
}

export function classOf(text: SourceText, name: string): { start: number; end?: number } | undefined {
  const start = text.find(new RegExp(`\\bclass\\s+${escaped(name)}\\b`));
  if (start === null) return undefined;
  // ends at the next class at the beginning of a line
  const next = text.find(/\n(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\s/, { start });
  return next === null ? { start } : { start, end: next };
}

/** The names of a class and of those it extends. */
export function namesOf(type: unknown): string[] {
  const names: string[] = [];
  for (let each = type; typeof each === 'function' && each !== Function.prototype; each = Object.getPrototypeOf(each)) {
    if (each.name && !names.includes(each.name)) names.push(each.name);
  }
  return names;
}

/** Whether a member is a key with this text as its value. */
export function isText(member: string, value: string): boolean {
  return new RegExp(`:\\s*(['"\`])${escaped(value)}\\1`).test(member);
}

export function escaped(text: string): string {
  return text.replace(/[^\w]/g, '\\$&');
}
