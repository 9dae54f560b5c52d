import { camelCased } from '../camel-case.ts';
import type { Report } from '../report.ts';
import type { WrittenAppMain } from '../schema/schema.ts';
import { originPattern } from '../schema/settings-schema.ts';
import type { CorsDeclaration, Path } from '../types.ts';

type WrittenCors = NonNullable<WrittenAppMain['server']['cors']>;

/** Null if no origin is allowed, such as with an empty environment variable. */
export function readCors({ origins: written, ...others }: WrittenCors, report: Report): CorsDeclaration | null {
  if (written === undefined || written === null) return null;
  const path: Path = ['app_main', 'server', 'cors', 'origins'];
  const isText = typeof written === 'string';
  const origins = isText ? written.split(',').flatMap((part) => part.trim() || []) : written;
  for (const [index, origin] of origins.entries()) {
    const trouble = troubleOf(origin);
    if (trouble !== null) report.add(isText ? path : [...path, index], trouble);
  }
  const isAny = origins.includes('*');
  if (isAny && origins.length > 1) report.add(path, '"*" allows every origin; remove it, or the other origins');
  if (isAny && others.credentials) {
    const remedy = 'list the origins that may send cookies, or remove "credentials"';
    report.add([...path.slice(0, -1), 'credentials'], `browsers reject cookies with the origin "*"; ${remedy}`);
  }
  return { ...camelCased(others), origins: isAny ? '*' : origins };
}

/** Browsers send origins in one form only, so any other one would never match. */
function troubleOf(origin: string): string | null {
  if (!originPattern.test(origin)) return `"${origin}" is not an origin; write it such as "https://app.example.org"`;
  if (!/^https?:/.test(origin)) return null;
  const sent = URL.canParse(origin) ? new URL(origin).origin : null;
  if (sent === origin) return null;
  return sent === null
    ? `"${origin}" is not an origin; write it such as "https://app.example.org"`
    : `browsers send the origin "${origin}" as "${sent}"; write it like that`;
}
