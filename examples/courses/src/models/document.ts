import { randomUUID } from 'node:crypto';
import { defineEntity, p } from '@mikro-orm/core';

export const Document = defineEntity({
  name: 'Document',
  abstract: true,
  discriminator: 'type',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => randomUUID())
      .groups('read'),
    type: p.enum(['note', 'letter']).groups('read'),
    title: p.string().length(120).groups('read', 'write'),
    created: p
      .datetime()
      .onCreate(() => new Date())
      .groups('read'),
  },
});

export const Note = defineEntity({
  name: 'Note',
  extends: Document,
  discriminatorValue: 'note',
  properties: { text: p.text().groups('read', 'write') },
});

export const Letter = defineEntity({
  name: 'Letter',
  extends: Document,
  discriminatorValue: 'letter',
  properties: {
    recipient: p.string().length(120).groups('read', 'write'),
    postage: p.decimal().precision(6).scale(2).nullable().groups('read', 'write'),
  },
});
