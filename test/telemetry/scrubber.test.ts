import { expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { scrubber } from '../../src/telemetry/scrubber.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { thingOptions } from '../traffic/things.ts';

async function scrubberOf(url = 'sqlite::memory:') {
  const options = thingOptions(
    { log: { redact: ['iban'] } },
    { database: { url }, security: { api_keys: { a: { key: 'key-of-robot-0001' } } } },
  );
  return scrubber((await loadApplication(options)).declaration);
}

test('secrets are removed by name, by form or by declaration, and the rest stays', async () => {
  const scrub = await scrubberOf('postgresql://me:pass%2Fword-1@db/x');
  const rows = [
    ['{"authorization":"Bearer abc","cookie":["a=1","b=2"],"x":1}', '{"authorization":"[redacted]","cookie":"[redacted]","x":1}'],
    [
      '{"Proxy-Authorization":"x","user_password":"a\\"b","n":2}',
      '{"Proxy-Authorization":"[redacted]","user_password":"[redacted]","n":2}',
    ],
    ['{"msg":"{\\"token\\":\\"abc\\",\\"a\\":\\"b\\"}"}', '{"msg":"{\\"token\\":\\"[redacted]\\",\\"a\\":\\"b\\"}"}'],
    ['{"url":"/a?access_token=abc&page=2"}', '{"url":"/a?access_token=[redacted]&page=2"}'],
    ['{"url":"/a?page=2&IBAN=abc"}', '{"url":"/a?page=2&IBAN=[redacted]"}'],
    ['{"m":"Bearer abcdefgh.i and Basic YWJjOmRlZg=="}', '{"m":"Bearer [redacted] and Basic [redacted]"}'],
    [
      '{"m":"postgres://me:a@b:c@host/db and redis://:pw@host"}',
      '{"m":"postgres://me:[redacted]@host/db and redis://:[redacted]@host"}',
    ],
    ['{"m":"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln, gone"}', '{"m":"got [redacted], gone"}'],
    [
      '{"m":"the key is key-of-robot-0001, the password pass/word-1 or pass%2Fword-1"}',
      '{"m":"the key is [redacted], the password [redacted] or [redacted]"}',
    ],
    [
      '{"route":"/api/token/{id}","path":"/api/token/7","count_of_tokens":3}',
      '{"route":"/api/token/{id}","path":"/api/token/7","count_of_tokens":3}',
    ],
    ['{"m":"http://localhost:3000/a@b, a:b@c"}', '{"m":"http://localhost:3000/a@b, a:b@c"}'],
  ];
  for (const [given, expected] of rows) {
    expect(scrub(given as string)).toBe(expected);
    JSON.parse(scrub(given as string));
  }
});

test('scrubbing a long line takes linear time', async () => {
  const scrub = await scrubberOf();
  for (const part of ['token', 'eyJ-', 'eyJ.', '\\\\', '\\"', '"token":"', 'a://', 'bearer ', 'x=', 'token=']) {
    const line = `{"m":"${part.repeat(200_000 / part.length)}"}`;
    const start = cpuTime();
    scrub(line);
    expect([part, cpuTime() - start < 1500]).toEqual([part, true]);
  }
});
