import type { FastifyRequest } from 'fastify';

/** As much of a request as access control looks at. Names and values of `raw` are listed flat, as Node does. */
export function fakeRequest(headers: Record<string, string | string[]> = {}, raw?: readonly string[]): FastifyRequest {
  return { headers, ...(raw === undefined ? {} : { raw: { rawHeaders: raw } }) } as unknown as FastifyRequest;
}

/** What a function throws, at once or later; undefined if it does not. */
export async function thrownBy(action: () => unknown): Promise<any> {
  try {
    await action();
  } catch (error) {
    return error;
  }
  return undefined;
}
