import { type Nginx, startNginx } from '../../support/nginx.ts';

/** A caching proxy in front of a server. */
export type SharedCache = Nginx;

/**
 * Starts nginx in front of a server, as a shared cache that stores every response it may: of any status, also to POST, for ten
 * minutes where the response does not say, and for all callers alike. `X-Cache` says whether a response was stored.
 */
export function startSharedCache(origin: string): Promise<SharedCache> {
  return startNginx(
    (directory, socketPath) => `proxy_cache_path ${directory}/cache keys_zone=shared:1m;
  server {
    listen unix:${socketPath};
    location / {
      proxy_pass http://${new URL(origin).host};
      proxy_http_version 1.1;
      proxy_cache shared;
      proxy_cache_key "$request_method $request_uri";
      proxy_cache_methods GET HEAD POST;
      proxy_cache_convert_head off;
      proxy_cache_valid any 10m;
      add_header X-Cache $upstream_cache_status always;
    }
  }`,
  );
}
