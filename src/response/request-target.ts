interface RequestTarget {
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/** Parts a request's address. Proxies send it whole, with an origin that is none of ours to repeat. */
export function targetOf(url: string): RequestTarget {
  const own = url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = own.indexOf('?');
  return mark === -1 ? { path: own, query: '' } : { path: own.slice(0, mark), query: own.slice(mark + 1) };
}
