import { type DenormalizationContext, Denormalizer, type ModelClass } from 'declarest';

/** A requestor is a person or a third party: `{"type": "person", "id": 7}`, or in short `"person/7"`. */
export class RequestorDenormalizer extends Denormalizer {
  static override properties = ['Course.requestor'];

  override denormalize(value: unknown, types: readonly ModelClass[], context: DenormalizationContext) {
    const { type, id } = typeof value === 'string' ? fromShort(value) : (value as { type?: unknown; id?: unknown });
    return context.resolve({ type, id }, types);
  }
}

function fromShort(text: string): { type: string; id: number } {
  const [type = '', id] = text.split('/');
  return { type, id: Number(id) };
}
