import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv4 } from 'node:net';
import { parseAddress } from './address.ts';

/** Names of networks, as in Fastify. */
const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

export interface TrustedProxies {
  trusts(address: string | undefined): boolean;
  /**
   * The address of the client of a request. Reads `X-Forwarded-For` from its end, as long as trusted proxies wrote the entries.
   * Rewrites the header with plain addresses, without ports and brackets, so that `request.ip` is the same address.
   */
  clientOf(request: IncomingMessage): string | null;
}

/** @param proxies The addresses and networks of `server.trust_proxy`. */
export function trustedProxies(proxies: readonly string[]): TrustedProxies {
  const list = new BlockList();
  for (const proxy of proxies.flatMap((each) => named[each] ?? [each])) addTo(list, proxy);
  const contains = (address: string) => list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');

  function clientOf({ headers, socket }: IncomingMessage): string | null {
    let client = parseAddress(socket.remoteAddress);
    const forwarded = headers['x-forwarded-for'];
    if (client === null || forwarded === undefined || !contains(client)) return client;
    const entries = String(forwarded).split(',');
    const hops: string[] = [];
    while (contains(client)) {
      const hop = parseAddress(entries.at(-1));
      // no entry, or not an address: the request is counted for the proxy that sent it
      if (hop === null) {
        entries.length = 0;
        break;
      }
      entries.pop();
      hops.unshift(hop);
      client = hop;
    }
    headers['x-forwarded-for'] = [...entries.map((entry) => entry.trim()), ...hops].join(', ');
    return client;
  }

  return {
    trusts: (address) => {
      const known = parseAddress(address);
      return known !== null && contains(known);
    },
    clientOf,
  };
}

function addTo(list: BlockList, proxy: string): void {
  const [base, bits] = proxy.split('/');
  const address = parseAddress(base) ?? proxy;
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  try {
    // a network of all addresses would let every caller choose its address
    if (Number(bits) === 0) throw new Error('the network has no bits');
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  } catch (cause) {
    throw new Error(`app_main.server.trust_proxy: "${proxy}" is not an address or a network such as 10.0.0.0/8`, { cause });
  }
}
