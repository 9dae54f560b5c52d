import { defineEntity, type Opt, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ThirdParty',
  properties: {
    id: p.integer().primary().groups('read'),
    type: p.string().persist(false).getter().groups('read'),
    name: p.string().length(120).groups('read'),
    telephone: p.string().length(30).nullable().groups('read'),
  },
});

export class ThirdParty extends schema.class {
  override get type(): Opt<string> {
    return 'third_party';
  }
}

schema.setClass(ThirdParty);
