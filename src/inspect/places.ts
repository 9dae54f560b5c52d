import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EntityMetadata } from '@mikro-orm/core';
import type { Application } from '../application.ts';
import type { Catalog, Exported, Path } from '../declaration/types.ts';
import { classOf, escaped, isText, memberOf, namesOf, schemaOf } from '../model/model-source.ts';
import { type Member, SourceText } from '../model/source-text.ts';

/** Something and where it was declared. */
export interface Declared<Value> {
  readonly value: Value;
  readonly place: string;
}

/** Says where an application declares what it declares: `config/apis.yaml:12:9`, `src/models/person.ts:31`, or the dotted name of the thing. */
export class Places {
  readonly #application: Application;
  readonly #texts = new Map<string, SourceText | null>();

  constructor(application: Application) {
    this.#application = application;
  }

  /** Where a value of the configuration is written; of what is not written, where the thing around it is. */
  ofConfig(path: Path): string {
    const { source } = this.#application;
    const written = writtenPart(source.value, path);
    const place = source.placeOf(written, written.length === path.length ? 'value' : 'key');
    return place ? `${place.file}:${place.line}:${place.column}` : source.label(path);
  }

  /** Where an item of a list is written that several parts of the configuration can have, the nearest first. */
  ofItem(lists: readonly Path[], position: number): string {
    const { source } = this.#application;
    const list = lists.find((path) => writtenPart(source.value, path).length === path.length) ?? (lists.at(-1) as Path);
    return this.ofConfig([...list, position]);
  }

  /** Where a class of the application is written. */
  ofClass(kind: keyof Catalog, name: string): string {
    return this.#inModule(kind, name, (text) => definitionOf(text, name)) ?? name;
  }

  /** Where a method of a class is written: on the class itself, or on one that it extends. */
  ofMethod(kind: keyof Catalog, type: unknown, method: string): string {
    for (const name of namesOf(type)) {
      const found = this.#inModule(kind, name, (text) =>
        text.find(new RegExp(`(?<![\\w$.])${escaped(method)}\\s*(?:[(<]|=(?!=))`), classOf(text, name)),
      );
      if (found) return found;
    }
    return `${namesOf(type)[0]}.${method}`;
  }

  /** Where a class mentions a role, or else where it is written. */
  ofRole(voter: string, role: string): string {
    const mention = (text: SourceText) => {
      const part = classOf(text, voter);
      const at = part && text.textOf(part).search(new RegExp(`(['"\`])${escaped(role)}\\1`));
      return part && at !== undefined && at !== -1 ? part.start + at : null;
    };
    return this.#inModule('voters', voter, (text) => mention(text)) ?? this.ofClass('voters', voter);
  }

  /** Where a property of a model is given its groups. */
  ofProperty(meta: EntityMetadata, property: string): string {
    const names = namesOf(meta.class);
    for (const name of names) {
      const found = this.#inModule('models', name, (text) => propertyOf(text, name, property));
      if (found) return found;
    }
    const owner = names[0] ?? meta.className;
    return this.#fileOf('models', owner) ? this.ofClass('models', owner) : `${owner}.${property}`;
  }

  /** Where the filters of a model are written, or else the model. */
  ofFilters(meta: EntityMetadata): string {
    for (const name of namesOf(meta.class)) {
      const found = this.#inModule('models', name, (text) => {
        const schema = schemaOf(text, name);
        return schema === null ? null : (text.membersAt(schema).find(({ key }) => key === 'filters')?.start ?? null);
      });
      if (found) return found;
    }
    return this.ofClass('models', meta.className);
  }

  /** Where a route-loading service gives a route one of its keys, or the route; else where the service is named. */
  ofLoadedRoute(service: string, route: string, key: string, source: Path): string {
    const found = this.#inModule('services', service, (text) => {
      for (const open of text.objects(/(?:)/)) {
        const members = text.membersAt(open);
        const named = members.find((member) => member.key === 'name' && isText(text.textOf(member), route));
        if (named) return (members.find((member) => member.key === key) ?? named).start;
      }
      return null;
    });
    return found ?? this.ofConfig(source);
  }

  #inModule(kind: keyof Catalog, name: string, find: (text: SourceText) => number | null): string | null {
    const file = this.#fileOf(kind, name);
    const text = file && this.#textOf(file);
    const offset = text ? find(text) : null;
    return text && offset !== null ? `${file}:${text.lineAt(offset)}` : null;
  }

  /** `src/models/person.ts`; null where the application was given in code. */
  #fileOf(kind: keyof Catalog, name: string): string | null {
    const found = this.#application.catalog[kind].find((exported: Exported) => exported.name === name);
    const stem = found && /^(?<stem>.+)#/.exec(found.qualifiedName)?.groups?.stem;
    return stem ? (['ts', 'js', 'mts', 'mjs'].map((end) => `${stem}.${end}`).find((file) => this.#textOf(file)) ?? null) : null;
  }

  #textOf(file: string): SourceText | null {
    let text = this.#texts.get(file);
    if (text === undefined) {
      try {
        text = new SourceText(readFileSync(join(this.#application.directory, file), 'utf8'));
      } catch {
        text = null;
      }
      this.#texts.set(file, text);
    }
    return text;
  }
}

/** As much of a path as leads to something that was written. Keys may be spelled with dashes or underscores. */
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

/** Where a model or a class of that name is defined. */
function definitionOf(text: SourceText, name: string): number | null {
  return schemaOf(text, name) ?? classOf(text, name)?.start ?? null;
}

function propertyOf(text: SourceText, model: string, property: string): number | null {
  const found = memberOf(text, model, property);
  return found ? groupsOf(text, found) : null;
}

/** A property can go over several lines: the one that says the groups is the one to look at. */
function groupsOf(text: SourceText, member: Member): number {
  return text.find(/(?<=[.\s,{])groups\s*[(:]/, member) ?? member.start;
}
