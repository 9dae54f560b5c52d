import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import type { TestResponse } from '../../src/testing.ts';

interface Described {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

/** Holds answers to a document. */
export class DocumentValidator {
  readonly #document: OpenApiDocument;
  readonly #ajv: Ajv2020;

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    (addFormats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    this.#ajv.addFormat('decimal', true);
    this.#ajv.addSchema(document, 'document');
  }

  /** Expects that an operation can give the answer: its status, its type and its body. */
  expectDescribed(path: string, method: string, { status, headers, json, text }: TestResponse): void {
    const place = ['paths', path, method.toLowerCase(), 'responses'];
    const responses = this.#at(place) as Readonly<Record<string, Described>> | undefined;
    expect(Object.keys(responses ?? {}), `${method} ${path} answered ${text}`).toContain(String(status));
    const found = responses?.[String(status)] as Described;
    const { content } = found.$ref ? (this.#at(found.$ref.slice(2).split('/')) as Described) : found;
    if (!content || method === 'HEAD') {
      expect(text).toBe('');
      return;
    }
    const type = (headers.get('content-type') ?? '').split(';', 1)[0] as string;
    expect(Object.keys(content)).toContain(type);
    if (!/[/+]json$/.test(type)) return;
    const resolved = found.$ref ? [...found.$ref.slice(2).split('/')] : [...place, String(status)];
    const pointer = [...resolved, 'content', type, 'schema'].map((part) =>
      encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
    );
    const validate = this.#ajv.compile({ $ref: `document#/${pointer.join('/')}` });
    expect(validate(json), `${method} ${path}: ${this.#ajv.errorsText(validate.errors)}\n${text}`).toBe(true);
  }

  #at(place: readonly string[]): unknown {
    return place.reduce<unknown>((within, key) => (within as Record<string, unknown> | undefined)?.[key], this.#document);
  }
}
