// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { useApplication } from '../spec/fixtures/use-application.ts';
import { databases } from '../support/databases.ts';

type Any = any;

const actions = { _index: { methods: { POST: true }, bulk: { POST: true } } } as const;

function modelsOf() {
  const Frame = defineEntity({
    name: 'Frame',
    embeddable: true,
    properties: { width: p.integer().nullable().groups('read') },
  });
  const Part: Any = defineEntity({
    name: 'Part',
    abstract: true,
    discriminator: 'kind',
    properties: {
      id: p.integer().primary().groups('read'),
      kind: p.enum(['wheel', 'bolt', 'pane']),
      title: p.string().groups('read', 'write'),
    },
  } as Any);
  const of = (name: string, properties: Any): Any =>
    defineEntity({ name, extends: Part, discriminatorValue: name.toLowerCase(), properties } as Any);
  return [
    Part,
    of('Wheel', { spokes: p.integer().groups('read') }),
    of('Bolt', { secret: p.string() }),
    of('Pane', { frame: () => p.embedded(Frame).groups('read') }),
    Frame,
  ];
}

const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    secret: p.string(),
    lid: p.string().groups('read'),
    lock: p.string().groups('read'),
  },
});

const required = (propertyPath: string) => ({ propertyPath, title: 'is required', code: 'required', parameters: {} });
const rule = { propertyPath: '', title: 'breaks a rule of the model', code: 'model', parameters: {} };

describe.each(databases)('new rows that lack values that no body can set, on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const running = useApplication(kind, {
      app_main: {
        apis: {
          part: { class: 'Part', base_path: '/part', actions },
          box: { class: 'Box', base_path: '/box', actions },
        },
      },
      models: [...modelsOf(), Box],
      compiledReads,
    } as Any);

    test.each([
      ['/part.json', { type: 'wheel', title: 'a' }, [required('spokes')]],
      ['/part.json', { type: 'bolt', title: 'a' }, [rule]],
      ['/part.json', { type: 'pane', title: 'a' }, [required('frame')]],
      ['/box.json', { title: 'a' }, [rule, required('lid'), required('lock')]],
    ])('POST %s %j has a violation for each', async (path, json, violations) => {
      const made = await running.request('POST', path, { json });
      expect([made.status, (made.json as Any).violations]).toEqual([422, violations]);
      const list = await running.request('POST', path, { json: [json] });
      const ofItem = violations.map((each) => ({ ...each, propertyPath: `[0]${each.propertyPath && '.'}${each.propertyPath}` }));
      expect([list.status, (list.json as Any).violations]).toEqual([422, ofItem]);
      expect(await running.rows('select id from part union select id from box')).toEqual([]);
    });
  });
});
