import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EntityMetadata, EntitySchema, MetadataStorage } from '@mikro-orm/core';

/** Whether another copy of MikroORM than ours made a model. Our checks of entities and collections would not know its classes. */
export function isOfOtherCopy(model: unknown): boolean {
  if (EntitySchema.is(model)) return !(model instanceof EntitySchema);
  if (typeof model !== 'function') return false;
  const schema = EntitySchema.REGISTRY.get(model as never);
  if (schema) return !(schema instanceof EntitySchema);
  const decorated = Object.getOwnPropertyDescriptor(model, MetadataStorage.META_SYMBOL)?.value;
  return decorated !== undefined && !(decorated instanceof EntityMetadata);
}

/** Names both copies of MikroORM, and how to get rid of one. */
export function otherCopyMessage(directory: string): string {
  const ours = copySeenFrom(import.meta.url);
  const theirs = copySeenFrom(join(directory, 'package.json'));
  if (!ours || !theirs || ours.folder === theirs.folder)
    return `MikroORM is loaded twice, by the models and by Declarest (${ours?.folder}); run "npm dedupe", and load both as ES modules`;
  const isSame = ours.version === theirs.version;
  const remedy = isSame
    ? 'run "npm dedupe"'
    : 'install the same version of all @mikro-orm packages for both, then run "npm dedupe"';
  return `two copies of MikroORM: the models use ${theirs.folder} (${theirs.version}), and Declarest uses ${ours.folder} (${ours.version}); ${remedy}`;
}

/** The copy of MikroORM that a module gets; null if there is none. */
function copySeenFrom(file: string): { readonly folder: string; readonly version: string } | null {
  try {
    const folder = dirname(realpathSync(createRequire(file).resolve('@mikro-orm/core/package.json')));
    return { folder, version: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version };
  } catch {
    return null;
  }
}
