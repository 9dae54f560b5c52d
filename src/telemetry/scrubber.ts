import type { Declaration } from '../declaration/types.ts';

const redacted = '[redacted]';

/** Names of headers, keys and parameters that carry a secret, as a part of a longer name too. */
const secretNames = 'authorization|cookie|password|passwd|secret|token|api[-_]?key|credential|signature|jwt';

/** A shorter secret is too likely to be an ordinary word. */
const shortest = 8;

/**
 * Removes secrets from a line of JSON, wherever they are: values of keys and parameters with secret names, credentials of
 * headers, passwords in URLs, tokens, and every secret of the declaration itself.
 */
export function scrubber(declaration: Declaration): (line: string) => string {
  const names = [secretNames, ...declaration.server.log.redact.map(escaped)].join('|');
  // bounded, because lines can have any length
  const name = `[\\w.-]{0,64}?(?:${names})[\\w.-]{0,64}`;
  const rules: [RegExp, string][] = [
    // "authorization":"…" and "cookie":["…"]
    [new RegExp(`"(${name})":(?:"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\])`, 'gi'), `"$1":"${redacted}"`],
    // the same in a text that is JSON itself, at any nesting
    [new RegExp(`(?<!\\\\)(\\\\{1,31})"(${name})\\1"\\s*:\\s*\\1".*?(?<!\\\\)\\1"`, 'gis'), `$1"$2$1":$1"${redacted}$1"`],
    // ?token=…, and "token=…" in a text
    [new RegExp(`(?<![\\w.-])(${name}=)[^&\\s"'\\\\;,)]+`, 'gi'), `$1${redacted}`],
    [/\b(bearer|basic|apikey)(\s+)[\w.~+/=-]{8,}/gi, `$1$2${redacted}`],
    [/(:\/\/[^\s/:@"\\]*):[^\s/"\\]*@/g, `$1:${redacted}@`],
    [/(?<![\w-])eyJ[\w-]{6,}\.[\w-]+\.[\w-]*/g, redacted],
  ];
  const declared = declaredSecrets(declaration).flatMap(shapesOf).map(escaped);
  // first, before another rule replaces a part of a secret
  if (declared.length > 0) rules.unshift([new RegExp(declared.join('|'), 'g'), redacted]);
  // one test is enough for most lines: no rule could match them
  const suspect = new RegExp([names, 'bearer', 'basic', '://', 'eyJ', ...declared].join('|'), 'i');
  return (line) => {
    if (!suspect.test(line)) return line;
    return rules.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line);
  };
}

/** The secrets of the declaration, from the environment or not. */
function declaredSecrets({ database, security }: Declaration): string[] {
  const secrets = [security.jwt?.secret ?? '', ...security.apiKeys.map(({ key }) => key), passwordIn(database.url)];
  return secrets.filter((secret) => secret.length >= shortest);
}

function passwordIn(url: string): string {
  try {
    return decodeURIComponent(new URL(url).password);
  } catch {
    return '';
  }
}

/** The secret itself, in JSON and in a URL. The longest comes first: one may be the beginning of another. */
function shapesOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const shapes = [secret, inJson, JSON.stringify(inJson).slice(1, -1), encodeURIComponent(secret), encodeURI(secret)];
  return [...new Set(shapes)].sort((one, other) => other.length - one.length);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
