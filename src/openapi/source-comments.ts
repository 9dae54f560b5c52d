import type { EntityMetadata } from '@mikro-orm/core';
import type { Catalog } from '../declaration/types.ts';
import { classOf, memberOf, namesOf, schemaOf } from '../model/model-source.ts';
import type { SourceText } from '../model/source-text.ts';
import { sourceFiles } from './source-files.ts';

/**
 * The documentation comments of models and their properties. A comment is ignored if its subject is uncertain.
 */
export function sourceComments(directory: string, { models }: Pick<Catalog, 'models'>) {
  const fileOf = sourceFiles(directory);
  const textOf = (model: string): SourceText | null => {
    const [found, ...others] = models.filter(({ name }) => name === model);
    return found && others.length === 0 ? (fileOf(found)?.text ?? null) : null;
  };
  return (meta: EntityMetadata, property?: string): string | undefined => {
    for (const name of property === undefined ? [meta.className] : namesOf(meta.class)) {
      const text = textOf(name);
      const comment = text && (property === undefined ? ofModel(text, name) : ofProperty(text, name, property));
      if (comment) return comment;
    }
    return undefined;
  };
}

function ofProperty(text: SourceText, model: string, property: string): string | null {
  const member = memberOf(text, model, property);
  return member ? text.docBefore(member.start) : null;
}

/** The comment before the class, if there is one, or before the statement with `defineEntity`. */
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
