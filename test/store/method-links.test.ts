// @module-tag divided
import { type Collection, defineEntity, p, wrap } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

/** How often each method of a model was called. */
const calls = new Map<string, number>();
/** What others do while a method waits. */
let meanwhile = async (): Promise<unknown> => undefined;
const count = (name: string) => calls.set(name, (calls.get(name) ?? 0) + 1);

const Player = defineEntity({
  name: 'Player',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    since: p.string().nullable().groups('read'),
    club: () => p.manyToOne(Club).nullable().groups('read'),
    teams: () => p.manyToMany(Team).mappedBy('players'),
  },
});
const Club = defineEntity({
  name: 'Club',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read'),
    team: () => p.manyToOne(Team),
    player: () => p.manyToOne(Player).groups('read'),
  },
});

const schema = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    size: p.integer().default(0).groups('read'),
    mode: p.string().default('plain').groups('read', 'write'),
    club: () => p.manyToOne(Club).nullable().groups('read', 'write'),
    code: p.string().length(5).nullable(),
    sponsor: () => p.manyToOne([Player, Club]).nullable().groups('read', 'write'),
    players: () => p.manyToMany(Player).inversedBy('teams').groups('read'),
    notes: () => p.oneToMany(Note).mappedBy('team').groups('read'),
  },
});

type PlayerRow = { id: number; since?: string | null };

/** A team whose methods do more or less, as its mode says. */
class Team extends schema.class {
  async addPlayer(player: PlayerRow): Promise<unknown> {
    count('addPlayer');
    const players = this.players as unknown as Collection<PlayerRow>;
    switch (this.mode) {
      case 'waiting':
      case 'waiting for MikroORM':
        this.size = 10 + players.length;
        if (this.mode !== 'waiting') player.since = 'changed';
        await meanwhile();
        return undefined;
      case 'counting':
        players.add(player);
        this.size = players.length;
        return undefined;
      case 'fluent':
        players.add(player);
        this.size = players.length;
        return this;
      case 'only':
        players.removeAll();
        players.add(player);
        return player;
      case 'limit':
        if (players.length < 2) players.add(player);
        else throw new Error('full');
        return undefined;
      case 'looking': {
        players.add(player);
        // managed from here on
        return (this.notes as unknown as Collection<object>).loadItems().then(() => undefined);
      }
      case 'noting after a look': {
        await (this.notes as unknown as Collection<object>).loadItems();
        const note = new (Note.class as unknown as new () => { text: string; player: unknown })();
        note.text = `added ${player.id}`;
        note.player = player;
        (this.notes as unknown as Collection<object>).add(note);
        players.add(player);
        return undefined;
      }
      case 'counting notes': {
        this.size = 10;
        players.add(player);
        const notes = await (this.notes as unknown as Collection<object>).loadItems();
        this.size += notes.length;
        return undefined;
      }
      case 'rewriting': {
        const notes = (await (this.notes as unknown as Collection<object>).loadItems()) as { player: PlayerRow; text: string }[];
        for (const note of notes) note.text = 'rewritten';
        const first = notes[0]?.player as PlayerRow;
        await wrap(first).init();
        first.since = 'rewritten';
        players.add(player);
        return undefined;
      }
      case 'replacing': {
        const notes = (await (this.notes as unknown as Collection<object>).loadItems()) as { player: PlayerRow }[];
        for (const note of notes) if (players.contains(note.player)) players.remove(note.player);
        players.add(player);
        return undefined;
      }
      case 'asking': {
        await (player as unknown as { teams: Collection<object> }).teams.loadItems();
        const found = await players.matching({ where: { id: 1 } });
        this.size = found.length + (await players.loadCount());
        players.add(player);
        return undefined;
      }
      case 'telling':
        players.add(player);
        this.size = JSON.stringify(this).length > 0 ? 3 : 0;
        return undefined;
      case 'sponsored': {
        players.add(player);
        return this.club as unknown as object;
      }
      case 'founding': {
        players.add(player);
        const club = new (Club.class as unknown as new () => { id: number; name: string })();
        club.id = 7;
        club.name = 'founded';
        this.club = club as never;
        return undefined;
      }
      case 'renaming':
        players.add(player);
        (this.club as unknown as { name: string }).name = 'renamed';
        return undefined;
      case 'long':
        players.add(player);
        this.code = 'longer than its column';
        return undefined;
      case 'touching':
        players.add(player);
        player.since = '2026-01-01';
        return undefined;
      case 'noting': {
        players.add(player);
        const note = new (Note.class as unknown as new () => { text: string; player: unknown; team: unknown })();
        note.text = `added ${player.id}`;
        note.player = player;
        (this.notes as unknown as Collection<object>).add(note);
        return undefined;
      }
      default:
        players.add(player);
        return undefined;
    }
  }

  removePlayer(player: PlayerRow): void {
    count('removePlayer');
    (this.players as unknown as Collection<PlayerRow>).remove(player);
    if (this.mode === 'counting') this.size = this.players.length;
  }

  async validate() {
    count('validate');
    if (this.mode === 'judging') await (this.notes as unknown as Collection<object>).init();
    return this.mode === 'picky' && this.players.length > 1 ? [{ propertyPath: 'players', title: 'one is enough' }] : [];
  }
}
schema.setClass(Team);

describe.each(databases)('add and remove methods on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = {
      _index: { methods: { POST: true } },
      _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
    } as const;
    app = await startApplication({
      models: [Player, Club, Note, Team],
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          player: { class: Player, base_path: '/player', actions },
          team: {
            class: Team,
            base_path: '/team',
            actions: { ...actions, players: { association: { property: 'players', types: [Player] } } },
          },
        },
      },
    });
    await app.application.mapper.em.fork().insert(Club, { id: 1, name: 'first' });
    for (const name of ['Ada', 'Bo', 'Cy', 'Di', 'Ed']) await app.request('POST', '/player.json', { json: { name } });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  beforeEach(() => calls.clear());

  const teamOf = async (mode: string) =>
    (await app.request('POST', '/team.json', { json: { name: mode, mode, club: { id: 1 }, sponsor: { type: 'player', id: 2 } } }))
      .json.id as number;
  const shown = async (team: number) => (await app.request('GET', `/team/${team}.json`)).json;
  const playersOf = async (team: number) => ((await shown(team)).players as { id: number }[]).map(({ id }) => id).sort();
  const send = (method: 'POST' | 'DELETE', team: number, id: number) =>
    app.request(method, `/team/${team}/players.json`, { json: { type: 'player', id } });
  const calledOnce = (...names: string[]) =>
    expect(Object.fromEntries(calls)).toEqual(Object.fromEntries(names.map((name) => [name, 1])));

  test('link and unlink an item, and respond with it', async () => {
    const team = await teamOf('plain');
    calls.clear();
    const added = await send('POST', team, 1);
    expect(added.status).toBe(200);
    expect(added.json).toEqual((await app.request('GET', '/player/1.json')).json);
    calledOnce('addPlayer', 'validate');
    expect(await playersOf(team)).toEqual([1]);
    calls.clear();
    expect((await send('DELETE', team, 1)).status).toBe(200);
    calledOnce('removePlayer', 'validate');
    expect(await playersOf(team)).toEqual([]);
  });

  test('are not called if the item is already linked, already unlinked or missing', async () => {
    const team = await teamOf('plain');
    await send('POST', team, 1);
    calls.clear();
    expect((await send('POST', team, 1)).json.id).toBe(1);
    expect((await send('DELETE', team, 2)).json.id).toBe(2);
    expect(calls.size).toBe(0);
    expect((await send('POST', team, 99)).status).toBe(400);
    expect((await send('POST', 99, 1)).status).toBe(404);
    expect(calls.size).toBe(0);
  });

  test.each(['looking', 'judging'])('and rules may load other items of the owner, mode %s', async (mode) => {
    const team = await teamOf('plain');
    const em = app.application.mapper.em.fork();
    await em.nativeUpdate(Team, { id: team } as never, { mode } as never);
    for (const text of ['one', 'two']) await em.insert(Note, { text, team, player: 1 } as never);
    for (const [method, players] of [
      ['POST', [3]],
      ['DELETE', []],
    ] as const) {
      const { status, json } = await send(method, team, 3);
      expect([status, json.id]).toEqual([200, 3]);
      expect(await playersOf(team)).toEqual(players);
    }
    expect((await app.request('PATCH', `/team/${team}.json`, { json: { name: 'renamed' } })).status).toBe(200);
    expect(await shown(team)).toMatchObject({ name: 'renamed', notes: [{ text: 'one' }, { text: 'two' }] });
  });

  test('may set columns of the owner', async () => {
    const team = await teamOf('counting');
    await send('POST', team, 1);
    await send('POST', team, 2);
    expect(await shown(team)).toMatchObject({ size: 2, players: [{ id: 1 }, { id: 2 }] });
    await send('DELETE', team, 1);
    expect(await shown(team)).toMatchObject({ size: 1, players: [{ id: 2 }] });
  });

  test('respond with the stored owner if they return it', async () => {
    const team = await teamOf('fluent');
    await send('POST', team, 1);
    const response = await send('POST', team, 2);
    expect(response.json).toEqual(await shown(team));
    expect(response.json.size).toBe(2);
  });

  test('may replace the items', async () => {
    const team = await teamOf('only');
    await send('POST', team, 1);
    await send('POST', team, 2);
    expect(await playersOf(team)).toEqual([2]);
  });

  test('write nothing if a rule is violated or if they throw', async () => {
    const picky = await teamOf('picky');
    await send('POST', picky, 1);
    expect((await send('POST', picky, 2)).status).toBe(422);
    expect(await playersOf(picky)).toEqual([1]);
    const limit = await teamOf('limit');
    for (const player of [1, 2]) await send('POST', limit, player);
    expect((await send('POST', limit, 3)).status).toBe(500);
    expect(await playersOf(limit)).toEqual([1, 2]);
  });

  test('write nothing if the item is removed meanwhile', async () => {
    const team = await teamOf('waiting');
    const { id } = (await app.request('POST', '/player.json', { json: { name: 'Flo' } })).json;
    meanwhile = () => app.application.mapper.em.fork().nativeDelete(Player, { id });
    expect((await send('POST', team, id)).status).toBe(400);
    expect((await shown(team)).size).toBe(0);
  });

  test.each(['waiting', 'waiting for MikroORM'])('run again if others link an item meanwhile, mode %s', async (mode) => {
    const team = await teamOf(mode);
    const em = app.application.mapper.em.fork();
    meanwhile = async () => {
      meanwhile = async () => undefined;
      await em.execute('insert into team_players (team_id, player_id) values (?, 2)', [team]);
    };
    calls.clear();
    expect((await send('POST', team, 1)).status).toBe(200);
    expect(calls.get('addPlayer')).toBe(2);
    expect((await shown(team)).size).toBe(11);
  });

  test('may change the item, and run once', async () => {
    const team = await teamOf('touching');
    calls.clear();
    const response = await send('POST', team, 3);
    expect(response.json).toMatchObject({ id: 3, since: '2026-01-01' });
    calledOnce('addPlayer', 'validate');
    expect((await app.request('GET', '/player/3.json')).json).toMatchObject({ since: '2026-01-01' });
    expect(await playersOf(team)).toEqual([3]);
  });

  test('may change a row that the owner refers to', async () => {
    const team = await teamOf('renaming');
    expect((await send('POST', team, 1)).status).toBe(200);
    expect(await shown(team)).toMatchObject({ club: { name: 'renamed' }, players: [{ id: 1 }] });
  });

  test('return 422 for a value that does not fit its column', async () => {
    const team = await teamOf('long');
    expect((await send('POST', team, 1)).status).toBe(422);
    expect(await playersOf(team)).toEqual([]);
  });

  test('may load another association', async () => {
    const team = await teamOf('looking');
    for (const player of [1, 2]) expect((await send('POST', team, player)).status).toBe(200);
    expect(await shown(team)).toMatchObject({ players: [{ id: 1 }, { id: 2 }], sponsor: { id: 2 } });
  });

  const noted = async (mode: string, ...players: number[]) => {
    const team = await teamOf(mode);
    const em = app.application.mapper.em.fork();
    for (const player of players) {
      await em.insert(Note, { text: `about ${player}`, team, player } as never);
      await em.execute(`insert into team_players (team_id, player_id) values (${team}, ${player})`);
    }
    calls.clear();
    return team;
  };

  test('may load rows that refer to items, and create another one', async () => {
    const team = await noted('noting after a look', 1, 2);
    expect((await send('POST', team, 3)).status).toBe(200);
    calledOnce('addPlayer', 'validate');
    const { notes, players } = await shown(team);
    expect(players.map(({ id }: { id: number }) => id)).toEqual([1, 2, 3]);
    expect(notes.map(({ text }: { text: string }) => text)).toEqual(['about 1', 'about 2', 'added 3']);
  });

  test('may set a column before they load an association', async () => {
    const team = await noted('counting notes', 1, 2);
    expect((await send('POST', team, 3)).status).toBe(200);
    expect(await shown(team)).toMatchObject({ size: 12, players: [{ id: 1 }, { id: 2 }, { id: 3 }] });
  });

  test('may change loaded rows, including items of the association', async () => {
    const team = await noted('rewriting', 4);
    expect((await send('POST', team, 3)).status).toBe(200);
    expect((await shown(team)).notes).toMatchObject([{ text: 'rewritten', player: { since: 'rewritten' } }]);
    expect(await playersOf(team)).toEqual([3, 4]);
  });

  test('recognize an item that was loaded through another association', async () => {
    const team = await noted('replacing', 1, 2);
    expect((await send('POST', team, 3)).status).toBe(200);
    expect(await playersOf(team)).toEqual([3]);
  });

  test('may query the association and its inverse side', async () => {
    const team = await noted('asking', 1, 2);
    expect((await send('POST', team, 3)).status).toBe(200);
    expect(await shown(team)).toMatchObject({ size: 3, players: [{ id: 1 }, { id: 2 }, { id: 3 }] });
  });

  test('respond with the returned entity, never with an item that has the same key', async () => {
    const team = await noted('sponsored');
    const response = await send('POST', team, 3);
    expect(response.json).toEqual({ id: 1, name: expect.any(String) });
    expect(await playersOf(team)).toEqual([3]);
  });

  test('may serialize the owner to JSON', async () => {
    await app.application.mapper.em.fork().nativeUpdate(Player, { id: [1, 2, 3] }, { club: 1 } as never);
    const team = await noted('telling', 1, 2);
    expect((await send('POST', team, 3)).status).toBe(200);
    expect(await shown(team)).toMatchObject({ size: 3, players: [{ id: 1 }, { id: 2 }, { id: 3 }] });
  });

  test('may create a row that the owner refers to', async () => {
    const team = await noted('founding');
    expect((await send('POST', team, 3)).status).toBe(200);
    expect(await shown(team)).toMatchObject({ club: { name: 'founded' }, players: [{ id: 3 }] });
  });

  test('may create rows that refer to the owner and the item, and run once', async () => {
    const team = await teamOf('noting');
    await send('POST', team, 4);
    calls.clear();
    expect((await send('POST', team, 5)).json.id).toBe(5);
    calledOnce('addPlayer', 'validate');
    expect(await shown(team)).toMatchObject({
      players: [{ id: 4 }, { id: 5 }],
      notes: [
        { text: 'added 4', player: { id: 4 } },
        { text: 'added 5', player: { id: 5 } },
      ],
    });
  });

  test('respect a limit under concurrent requests', async () => {
    for (let round = 0; round < 8; round++) {
      const team = await teamOf('limit');
      const responses = await Promise.all([1, 2, 3, 4, 5].map((player) => send('POST', team, player)));
      const added = responses.filter(({ status }) => status === 200);
      expect(added).toHaveLength(2);
      expect(await playersOf(team)).toEqual(added.map(({ json }) => json.id).sort());
    }
  });

  test('keep a correct count under concurrent requests', async () => {
    for (let round = 0; round < 8; round++) {
      const team = await teamOf('counting');
      const responses = await Promise.all([1, 2, 3, 4, 5].map((player) => send('POST', team, player)));
      const added = responses.filter(({ status }) => status === 200);
      expect(await shown(team)).toMatchObject({ size: added.length });
      expect(await playersOf(team)).toHaveLength(added.length);
    }
  });
});
