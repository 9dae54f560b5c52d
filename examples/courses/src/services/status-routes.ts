import type { RouteDefinition } from 'declarest';

/** A route-loading service. config/routes.yaml refers to it by the name of this export. */
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
