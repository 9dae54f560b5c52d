import type { WrittenAction } from '../schema/schema.ts';
import type { ParameterDeclaration } from '../types.ts';

/** The query parameters of an action. Rules across keys are checked at startup. */
export function readParameters(written: WrittenAction['parameters']): readonly ParameterDeclaration[] {
  return written.map(({ key, path, value }) => ({ name: String(key), path, ...value }));
}
