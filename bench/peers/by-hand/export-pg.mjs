// What one would write: a cursor in a transaction, a thousand rows at a time, and a wait where the client is slower.
import { once } from 'node:events';
import { createServer } from 'node:http';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const select = `select p.id, p.kind, p.first_name, p.last_name, p.email, to_char(p.birthdate, 'YYYY-MM-DD') as birthdate, p.created_at, c.id as center_id, c.name as center_name
  from person p left join center c on c.id = p.center_id order by p.id`;

createServer(async (request, response) => {
  if (request.url !== '/export.ndjson') {
    response.end('{}');
    return;
  }
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(`declare c no scroll cursor for ${select}`);
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    for (;;) {
      const { rows } = await client.query('fetch forward 1000 from c');
      if (rows.length === 0) break;
      let text = '';
      for (const row of rows) {
        const center = row.center_id === null ? null : { id: row.center_id, name: row.center_name };
        text += `${JSON.stringify({ id: row.id, kind: row.kind, firstName: row.first_name, lastName: row.last_name, email: row.email, birthdate: row.birthdate, createdAt: row.created_at, center })}\n`;
      }
      if (!response.write(text)) await once(response, 'drain');
    }
    await client.query('commit');
    response.end();
  } finally {
    client.release();
  }
}).listen(Number(process.env.PORT), '127.0.0.1');
