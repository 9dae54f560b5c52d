import type { EntityMetadata } from '@mikro-orm/core';
import type { Application } from '../application.ts';
import { label } from '../declaration/source.ts';
import type { Catalog, Exported, Path } from '../declaration/types.ts';
import { classOf, escaped, isText, memberOf, namesOf, schemaOf } from '../model/model-source.ts';
import type { SourceText } from '../model/source-text.ts';
import { type SourceFile, sourceFiles } from '../openapi/source-files.ts';

/** A value with the place that declares it. */
export interface Declared<Value> {
  readonly value: Value;
  readonly place: string;
}

export type Places = ReturnType<typeof placesIn>;

/** Finds the places of declarations: `config/apis.yaml:12:9`, `src/models/person.ts:31`, or a dotted name. */
export function placesIn({ catalog, directory, source }: Application) {
  const fileOf = sourceFiles(directory);

  /** The place of a value in the configuration, or of the nearest enclosing value if it is not written. */
  function ofConfig(path: Path): string {
    const written = writtenPart(source.value, path);
    const place = source.placeOf(written, written.length === path.length ? 'value' : 'key');
    return place ? `${place.file}:${place.line}:${place.column}` : label(path);
  }

  /** The place of an item, in the first of these lists that the configuration has. */
  function ofItem(lists: readonly Path[], position: number): string {
    const list = lists.find((path) => writtenPart(source.value, path).length === path.length) ?? (lists.at(-1) as Path);
    return ofConfig([...list, position]);
  }

  function ofClass(kind: keyof Catalog, name: string): string {
    return inModule(kind, name, (text) => schemaOf(text, name) ?? classOf(text, name)?.start ?? null) ?? name;
  }

  /** The place of a method, on the class itself or on one that it extends. */
  function ofMethod(kind: keyof Catalog, type: unknown, method: string): string {
    const definition = new RegExp(`(?<![\\w$.])${escaped(method)}\\s*(?:[(<]|=(?!=))`);
    const found = inChain(kind, type, (text, name) => text.find(definition, classOf(text, name)));
    return found ?? `${namesOf(type)[0]}.${method}`;
  }

  /** The place at which a voter mentions a role, or else of the voter. */
  function ofRole(voter: string, role: string): string {
    const mention = (text: SourceText) => {
      const part = classOf(text, voter);
      const at = part && text.textOf(part).search(new RegExp(`(['"\`])${escaped(role)}\\1`));
      return part && at !== undefined && at !== -1 ? part.start + at : null;
    };
    return inModule('voters', voter, mention) ?? ofClass('voters', voter);
  }

  /** The place of a property's groups, or else of the property or the model. */
  function ofProperty(meta: EntityMetadata, property: string): string {
    const found = inChain('models', meta.class, (text, name) => {
      const member = memberOf(text, name, property);
      // a property can span several lines: point at the one with the groups
      return member ? (text.find(/(?<=[.\s,{])groups\s*[(:]/, member) ?? member.start) : null;
    });
    if (found) return found;
    const owner = namesOf(meta.class)[0] ?? meta.className;
    return moduleOf('models', owner) ? ofClass('models', owner) : `${owner}.${property}`;
  }

  /** The place of a model's filters, or else of the model. */
  function ofFilters(meta: EntityMetadata): string {
    const found = inChain('models', meta.class, (text, name) => {
      const schema = schemaOf(text, name);
      return schema === null ? null : (text.membersAt(schema).find(({ key }) => key === 'filters')?.start ?? null);
    });
    return found ?? ofClass('models', meta.className);
  }

  /** The place of a key of a route that a service loads, or of the route; else of the service's name. */
  function ofLoadedRoute(service: string, route: string, key: string, source: Path): string {
    const found = inModule('services', service, (text) => {
      for (const open of text.objects(/(?:)/)) {
        const members = text.membersAt(open);
        const named = members.find((member) => member.key === 'name' && isText(text.textOf(member), route));
        if (named) return (members.find((member) => member.key === key) ?? named).start;
      }
      return null;
    });
    return found ?? ofConfig(source);
  }

  /** Looks in the module of a class, then in those of the classes that it extends. */
  function inChain(kind: keyof Catalog, type: unknown, find: (text: SourceText, name: string) => number | null): string | null {
    for (const name of namesOf(type)) {
      const found = inModule(kind, name, (text) => find(text, name));
      if (found) return found;
    }
    return null;
  }

  function inModule(kind: keyof Catalog, name: string, find: (text: SourceText) => number | null): string | null {
    const module = moduleOf(kind, name);
    const offset = module ? find(module.text) : null;
    return module && offset !== null ? `${module.file}:${module.text.lineAt(offset)}` : null;
  }

  function moduleOf(kind: keyof Catalog, name: string): SourceFile | null {
    const found = catalog[kind].find((exported: Exported) => exported.name === name);
    return found ? fileOf(found) : null;
  }

  return { ofConfig, ofItem, ofClass, ofMethod, ofRole, ofProperty, ofFilters, ofLoadedRoute };
}

/** The longest prefix of a path that the configuration has. Keys may be spelled with dashes or underscores. */
function writtenPart(value: unknown, path: Path): Path {
  let current = value;
  for (const [depth, step] of path.entries()) {
    if (typeof current !== 'object' || current === null) return path.slice(0, depth);
    const known = current as Record<string, unknown>;
    const key = String(step);
    const spelled = [key, key.replaceAll('_', '-'), key.replaceAll('-', '_')].find((name) => Object.hasOwn(known, name));
    if (spelled === undefined) return path.slice(0, depth);
    current = known[spelled];
  }
  return path;
}
