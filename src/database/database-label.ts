/** A database's address without its password. */
export function databaseLabel(url: string): string {
  return url.replace(/^(\w+:\/\/[^/?#]*?):.*@/, '$1@');
}
