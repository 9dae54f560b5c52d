import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EntityMetadata } from '@mikro-orm/core';
import type { Catalog } from '../declaration/types.ts';
import { classOf, memberOf, namesOf, schemaOf } from '../model/model-source.ts';
import { SourceText } from '../model/source-text.ts';

/** What the source of a model says, in its documentation comments, of the model itself or of a property. */
export type SaidInSource = (meta: EntityMetadata, property?: string) => string | undefined;

/** Reads the sources of the models of an application on disk. Where it is not certain what a comment is about, it is about nothing. */
export function sourceComments(directory: string, { models }: Pick<Catalog, 'models'>): SaidInSource {
  const texts = new Map<string, SourceText | null>();
  const textOf = (model: string): SourceText | null => {
    const stems = new Set(models.filter(({ name }) => name === model).map(({ qualifiedName }) => qualifiedName.split('#')));
    const [first, ...others] = stems;
    // given in code, or two of one name
    if (first?.[1] === undefined || others.length > 0) return null;
    const [stem] = first as [string];
    if (!texts.has(stem)) texts.set(stem, read(directory, stem));
    return texts.get(stem) ?? null;
  };
  return (meta, property) => {
    for (const name of property === undefined ? [meta.className] : namesOf(meta.class)) {
      const text = textOf(name);
      const said = text && (property === undefined ? ofModel(text, name) : ofProperty(text, name, property));
      if (said) return said;
    }
    return undefined;
  };
}

function read(directory: string, stem: string): SourceText | null {
  for (const ending of ['ts', 'js', 'mts', 'mjs']) {
    try {
      return new SourceText(readFileSync(join(directory, `${stem}.${ending}`), 'utf8'));
    } catch {
      // it has another ending
    }
  }
  return null;
}

function ofProperty(text: SourceText, model: string, property: string): string | null {
  const member = memberOf(text, model, property);
  return member ? text.docBefore(member.start) : null;
}

/** The comment is before the class, where there is one, or before the statement that has `defineEntity`. */
function ofModel(text: SourceText, model: string): string | null {
  const declared = classOf(text, model);
  const schema = declared ? null : schemaOf(text, model);
  const at = declared?.start ?? schema;
  if (at === null || at === undefined) return null;
  const before = text.textOf({ start: 0, end: at });
  const statement =
    /(?:^|\n)(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:const\s+[\w$]+\s*=\s*(?:defineEntity|new\s+EntitySchema)\s*\(\s*)?$/;
  const found = statement.exec(before);
  return found ? text.docBefore(found.index + (found[0].startsWith('\n') ? 1 : 0)) : null;
}
