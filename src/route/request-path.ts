/** The options of the router for reading a path. */
export interface PathRules {
  readonly caseSensitive?: boolean;
  readonly ignoreTrailingSlash?: boolean;
  readonly ignoreDuplicateSlashes?: boolean;
  readonly useSemicolonDelimiter?: boolean;
}

/**
 * Reads a request target as the router does: without query, split at slashes, decoded once. Reserved characters stay encoded, so
 * that an encoded slash does not split a segment. Null if it is malformed: no slash at its start, or wrong percent-encoding.
 */
export function readPath(target: string, rules: PathRules): string[] | null {
  let path = withoutQuery(target, rules.useSemicolonDelimiter === true);
  if (!path.startsWith('/')) path = withoutOrigin(path);
  if (!path.startsWith('/')) return null;
  if (path.includes('%')) {
    try {
      // A percent sign that was itself encoded has to stay so, or "%2531" would become "1" when the segment is decoded.
      path = decodeURI(path.replaceAll('%25', '%2525'));
    } catch {
      return null;
    }
  }
  if (rules.ignoreDuplicateSlashes) path = path.replace(/\/{2,}/g, '/');
  if (rules.ignoreTrailingSlash && path.length > 1 && path.endsWith('/')) path = path.slice(0, -1);
  return path.slice(1).split('/');
}

/** The value of a segment: reserved characters decoded as well. */
export function segmentValue(segment: string): string {
  if (!segment.includes('%')) return segment;
  return segment.replace(/%(2[3-6bcf]|3[abdf]|40)/gi, (_, hexadecimal: string) =>
    String.fromCharCode(Number.parseInt(hexadecimal, 16)),
  );
}

/** The target up to its query or fragment. */
export function withoutQuery(target: string, semicolon = false): string {
  const end = target.search(semicolon ? /[?#;]/ : /[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

/** The path of a target in absolute form, as proxies send it. */
function withoutOrigin(target: string): string {
  const origin = /^https?:\/\/[^/]+/i.exec(target)?.[0];
  return origin === undefined ? target : target.slice(origin.length) || '/';
}
