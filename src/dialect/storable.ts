/** The smallest integer of 64 bits is left out: SQLite reads its literal as a floating-point number. */
export const int64 = { min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n };

/** Whether a text is an integer of 64 bits, in the one spelling that a row has for it. */
export function isInt64(text: string): boolean {
  return isInteger(text) && BigInt(text) >= int64.min && BigInt(text) <= int64.max;
}

export function isInteger(text: string): boolean {
  return /^(?:0|-?[1-9]\d{0,18})$/.test(text);
}

/** Whether a text is a day of the calendar, such as `2026-11-15`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false;
  const date = new Date(`${text}T00:00:00.000Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** Whether every database can hold a text: PostgreSQL rejects NUL, and half a surrogate pair would become another character. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
