/** Ends a request with a status: Fastify reads `statusCode`. */
export class Refusal extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

export const notFound = () => new Refusal(404, 'not found');
export const denied = () => new Refusal(403, 'access denied');
