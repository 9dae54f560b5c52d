/** One request of a workload. */
export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
}

/** The lines of a file that the load generators read. */
export function toLines(requests: readonly LoadRequest[]): string {
  return requests
    .map(
      ({ method, path, token = '', body }) =>
        `${[method, path, token, body === undefined ? '' : JSON.stringify(body)].join('\t')}\n`,
    )
    .join('');
}

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

export function fromLines(text: string): SentRequest[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [method = '', path = '', token, body] = line.split('\t');
      return {
        method,
        path,
        headers: { ...(token && { authorization: `Bearer ${token}` }), ...(body && { 'content-type': 'application/json' }) },
        body: body || undefined,
      };
    });
}
