import { isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * An address without port, brackets and zone; null if the text is not an address. An IPv4 address that is written as IPv6 becomes
 * plain IPv4.
 */
export function parseAddress(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (isIPv4(text)) return text;
  const [, bracketed, dotted] = /^\s*(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(text) ?? [];
  const plain = (bracketed ?? dotted ?? text.trim()).replace(/%.*$/, '');
  if (isIP(plain) === 0) return null;
  return isIPv6(plain) ? (mappedAddress(plain) ?? plain) : plain;
}

/** The part of an address by which callers are counted: in IPv6 the network, because its owner has all of its addresses. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  return groupsOf(address)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** The IPv4 address in `::ffff:192.0.2.1`, in any notation; null for other addresses. */
function mappedAddress(address: string): string | null {
  const groups = groupsOf(address);
  if (groups[5] !== 0xffff || groups.slice(0, 5).some((group) => group !== 0)) return null;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [before = [], after] = hex.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = after === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(zeros).fill('0'), ...(after ?? [])].map((group) => Number.parseInt(group, 16));
}
