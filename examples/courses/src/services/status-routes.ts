import type { RouteDefinition } from 'declarest';

/** A route-loading service of the application's own: named in config/routes.yaml by the name it is exported under. */
export const app_status_routes = {
  load(): RouteDefinition[] {
    return [
      {
        name: 'app_status',
        path: '/api/status.{_format}',
        methods: ['GET'],
        roles: 'ROLE_USER',
        handler: () => ({ status: 'ok', now: new Date() }),
      },
    ];
  },
};
