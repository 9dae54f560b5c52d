import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** As much of `@opentelemetry/api` as is used. An application that brings an SDK brings it as well; it is no dependency. */
export interface OpenTelemetry {
  readonly trace: {
    getTracer(name: string): Tracer;
    getSpan(context: Context): Span | undefined;
    setSpan(context: Context, span: Span): Context;
  };
  readonly context: { active(): Context; with<Result>(context: Context, run: () => Result): Result };
  readonly propagation: { extract(context: Context, carrier: unknown): Context };
  readonly ROOT_CONTEXT: Context;
}

/** Where a span belongs. It is the API's own, and nothing is known of it. */
export type Context = object;

export interface Tracer {
  startSpan(name: string, options: SpanOptions, context?: Context): Span;
}

interface SpanOptions {
  readonly kind: number;
  readonly startTime?: number;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

export interface Span {
  isRecording(): boolean;
  updateName(name: string): unknown;
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  recordException(exception: { readonly name: string; readonly message: string; readonly stack: string }): void;
  end(at?: number): void;
}

/** The API's numbers. */
export const spanKinds = { internal: 0, server: 1, client: 2 } as const;
export const errorStatus = 2;

/** The API as the application has it, or else as it is found from here: every copy knows what was registered with another. */
export async function loadOpenTelemetry(directory: string): Promise<OpenTelemetry | null> {
  const name = '@opentelemetry/api';
  for (const from of [join(directory, 'package.json'), import.meta.url]) {
    try {
      const module = (await import(pathToFileURL(createRequire(from).resolve(name)).href)) as Partial<OpenTelemetry> & {
        readonly default?: OpenTelemetry;
      };
      return module.ROOT_CONTEXT ? (module as OpenTelemetry) : (module.default ?? null);
    } catch {
      // it may be found from the other place
    }
  }
  return null;
}
