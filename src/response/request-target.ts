interface RequestTarget {
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/** Splits the URL of a request. Proxies send an absolute URL; its origin is dropped, so that responses do not repeat it. */
export function targetOf(url: string): RequestTarget {
  const own = url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = own.indexOf('?');
  return mark === -1 ? { path: own, query: '' } : { path: own.slice(0, mark), query: own.slice(mark + 1) };
}
