import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { OpenApiDeclaration } from '../declaration/types.ts';

export interface Info {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
  /** With the SPDX identifier. */
  readonly license?: { readonly name: string; readonly identifier: string };
}

/** The declared values, or those of the application's `package.json`. The last default of the title is the directory name. */
export function infoOf(directory: string, declared: OpenApiDeclaration): Info {
  const own = packageOf(directory);
  const description = declared.description ?? textOf(own.description);
  const license = textOf(own.license);
  return {
    title: declared.title ?? textOf(own.name) ?? basename(directory),
    version: declared.version ?? textOf(own.version) ?? '0.0.0',
    ...(description !== null && { description }),
    ...(license !== null && { license: { name: license, identifier: license } }),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function packageOf(directory: string): Readonly<Record<'name' | 'version' | 'description' | 'license', unknown>> {
  try {
    return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) ?? {};
  } catch {
    return {} as ReturnType<typeof packageOf>;
  }
}
