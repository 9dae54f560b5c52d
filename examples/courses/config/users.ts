import { defineApis } from 'declarest';
import { User } from '../src/models/user.ts';

/** The same declarations in TypeScript: classes instead of names, checked by the editor. */
export default {
  app_main: {
    apis: defineApis({
      user: {
        class: User,
        base_path: '/api/user',
        base_role: 'ROLE_ADMIN',
        actions: { _index: null, _entity: { methods: { GET: true, PATCH: true } } },
      },
    }),
  },
};
