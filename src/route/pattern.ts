/** One part of a path between two slashes. */
type Segment = { readonly text: string } | { readonly placeholder: string };

/** The parsed path of a route. */
export interface PathPattern {
  readonly segments: readonly Segment[];
  /** Whether the last segment ends in `.{_format}`. */
  readonly formatted: boolean;
}

const formatSuffix = '.{_format}';
// The path of a request is compared after decoding, so an encoded character in a route could never match. The other characters
// are not allowed in paths, or have a meaning for the router.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression rejects control characters
const forbidden = /[*?#%\\<>"\s\u0000-\u001f\u007f]/u;

/** Parses a path such as `/api/person/{id}.{_format}`. `errors` is empty if the path is valid. */
export function parsePath(path: string): { readonly pattern: PathPattern; readonly errors: readonly string[] } {
  const errors: string[] = [];
  const formatted = path.endsWith(formatSuffix);
  const bare = formatted ? path.slice(0, -formatSuffix.length) : path;
  const seen = new Set<string>();
  const segments = bare
    .slice(bare.startsWith('/') ? 1 : 0)
    .split('/')
    .map((text) => parseSegment(text, path, seen, errors));
  const pattern = { segments, formatted };
  if (bare.startsWith('/')) return { pattern, errors };
  return { pattern, errors: [`the path "${path}" must start with "/" and a name, as in "/api/person"`] };
}

function parseSegment(text: string, path: string, seen: Set<string>, errors: string[]): Segment {
  const placeholder = /^\{([A-Za-z_]\w*)\}$/.exec(text)?.[1];
  if (placeholder === undefined) {
    const error = staticError(text, path);
    if (error) errors.push(error);
    return { text };
  }
  if (placeholder === '_format') errors.push(`the path "${path}" may contain {_format} only at its end, as ".{_format}"`);
  else if (seen.has(placeholder))
    errors.push(`the path "${path}" contains the placeholder {${placeholder}} twice; rename one of them`);
  seen.add(placeholder);
  return { placeholder };
}

function staticError(text: string, path: string): string | null {
  if (text === '') {
    return path === '/' ? null : `the path "${path}" contains an empty segment; remove the doubled or last slash`;
  }
  if (text === '.' || text === '..')
    return `the path "${path}" contains the segment "${text}", which clients resolve away; remove it`;
  if (/[{}]/.test(text)) {
    return `the path "${path}" contains "${text}": a placeholder must fill a whole segment, as in "/{name}/", its name made of letters, digits and "_"`;
  }
  const character = forbidden.exec(text)?.[0];
  if (character !== undefined) {
    return `the path "${path}" contains ${JSON.stringify(character)}, which cannot be part of a path; write the path decoded and without it`;
  }
  return null;
}

/** The names of the placeholders of a path, without the format. */
export function placeholdersOf(pattern: PathPattern): string[] {
  return pattern.segments.flatMap((segment) => ('placeholder' in segment ? [segment.placeholder] : []));
}

/** A text that is equal for paths that differ only in the names of placeholders: `/api/person/{}`. */
export function shapeOf(pattern: PathPattern, suffix: string): string {
  return `${pattern.segments.map((segment) => ('placeholder' in segment ? '/{}' : `/${segment.text}`)).join('')}${suffix}`;
}
