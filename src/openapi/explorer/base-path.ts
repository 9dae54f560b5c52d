import { targetOf } from '../../response/request-target.ts';

/**
 * The path that a browser puts before the paths of the application: the path of `baseUrl`, then the prefix of the mount as it is in
 * the request. A prefix can have parameters, so its segments are counted.
 */
export function basePath(baseUrl: string, prefix: string, url: string): string {
  const outer = baseUrl.replace(/^https?:\/\/[^/]*/i, '');
  const count = segmentsOf(prefix).length;
  const inner = segmentsOf(targetOf(url).path).slice(0, count);
  return [outer, ...inner].join('/');
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
