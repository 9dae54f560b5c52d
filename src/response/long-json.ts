import { isTurnLong, nextTurn } from '../event-loop.ts';

/** The JSON of a value, as `JSON.stringify` returns it, in several turns of the event loop. */
export async function jsonInTurns(value: unknown): Promise<string> {
  let json = '';
  for (const piece of pieces(value)) {
    json += piece;
    if (isTurnLong()) await nextTurn();
  }
  return json;
}

function* pieces(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      yield i === 0 ? '[' : ',';
      yield* pieces(value[i]);
    }
    yield value.length === 0 ? '[]' : ']';
  } else if (hasParts(value)) {
    let isFirst = true;
    for (const [name, part] of Object.entries(value)) {
      const isLong = Array.isArray(part) || hasParts(part);
      const text = isLong ? '' : (JSON.stringify(part) as string | undefined);
      // JSON leaves out what it cannot hold, such as a function
      if (text === undefined) continue;
      yield `${isFirst ? '{' : ','}${JSON.stringify(name)}:${text}`;
      isFirst = false;
      if (isLong) yield* pieces(part);
    }
    yield isFirst ? '{}' : '}';
  } else yield JSON.stringify(value) ?? 'null';
}

/** Whether a value is a plain object with a list or an object in it. */
function hasParts(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  return typeof (value as { toJSON?: unknown }).toJSON !== 'function' && Object.values(value).some(isObject);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
