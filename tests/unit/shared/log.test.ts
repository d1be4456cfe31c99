import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { slow } from '../../support/depth.ts';

const root = path.join(import.meta.dirname, '../../..');
const logModule = path.join(root, 'shared/log.ts');

interface Ended {
  status: unknown;
  stdout: string;
  stderr: string;
}

async function run(statements: string): Promise<Ended> {
  const script = `import { createLogger, endOnUncaught } from ${JSON.stringify(logModule)};
    ${statements}`;
  return await new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '--eval', script], (error, stdout, stderr) =>
      resolve({ status: error ? error.code : 0, stdout, stderr }),
    );
  });
}

/** What a program has written that is killed in the moment in which it has logged. */
async function killedAfter(statement: string): Promise<string> {
  return (await run(`${statement} process.kill(process.pid, 'SIGKILL');`)).stdout;
}

test('a log line is written before the program continues', async () => {
  const line = await killedAfter(`createLogger('demo', { level: 'info' }).info({ count: 1 }, 'hello');`);
  const { time, ...rest } = JSON.parse(line);
  assert.deepEqual(rest, { level: 'info', program: 'demo', count: 1, msg: 'hello' });
  assert.equal(new Date(time).toISOString(), time);
});

test('a log line contains no terminal control characters, and the same text', async () => {
  const name = 'a\\u009b31m\\u202eb\\u2028c\\u007f\\u0085\\u001b[2J';
  const line = await killedAfter(`createLogger('demo', { level: 'info' }).info({ name: '${name}' }, '${name}');`);
  assert.match(line, /^[\x20-\x7e]+\n$/);
  const { name: field, msg } = JSON.parse(line);
  assert.deepEqual([field, msg], Array(2).fill('a\u009b31m\u202eb\u2028c\u007f\u0085\u001b[2J'));
});

test('log lines in text format are written as early', async () => {
  const line = await killedAfter(
    `createLogger('demo', { level: 'info', devMode: true }).debug({ count: 1 }, 'hello');`,
  );
  assert.match(line, /debug.* demo: hello count=1\n$/);
});

test('a log line in text format contains no control characters except its color, even in keys', async () => {
  const name = 'a\\u009b31m\\u202eb\\u2028c\\u007f\\u0085\\u001b[2J\\r\\nd';
  const line = await killedAfter(
    `createLogger('demo', { level: 'info', devMode: true }).info({ name: '${name}', '${name}': '"' }, 'it is "${name}"');`,
  );
  assert.match(line, /^[ -~]+ \p{Cc}\[32minfo \p{Cc}\[0m [ -~]+\n$/u);
  const escaped = 'a\\u009b31m\\u202eb\\u2028c\\u007f\\u0085\\u001b[2J\\u000d\\u000ad';
  assert.ok(line.includes(` demo: it is "${escaped}" name="`), line);
  assert.ok(line.endsWith(` ${escaped}="\\""\n`), line);
});

test('a log line contains no credentials, and only known fields of an error', async () => {
  const error = `Object.assign(new Error('no'), { code: 'EACCES', cause: new TypeError('why', { cause: 'odd' }) })`;
  const secrets = `token: 's3cret', password: 's3cret', secret: 's3cret', authorization: 's3cret'`;
  const headers = `{ authorization: 's3cret', 'x-hub-signature-256': 's3cret', 'user-agent': 'curl' }`;
  const line = await killedAfter(
    `createLogger('demo', { level: 'info' }).info({ ${secrets}, headers: ${headers}, err: ${error} });`,
  );
  const { token, password, secret, authorization, err } = JSON.parse(line);
  assert.deepEqual(new Set([token, password, secret, authorization]), new Set(['[redacted]']));
  assert.deepEqual([...line.matchAll(/s3cret/g)], []);
  assert.deepEqual(JSON.parse(line).headers, {
    authorization: '[redacted]',
    'x-hub-signature-256': '[redacted]',
    'user-agent': 'curl',
  });
  assert.deepEqual([err.type, err.message, err.code, err.stack], ['Error', 'no', 'EACCES', undefined]);
  assert.deepEqual([err.cause.type, err.cause.message, err.cause.cause.message], ['TypeError', 'why', 'odd']);
});

/** What a line shows of an error that statements make. */
async function shown(statements: string): Promise<{ err: Cause; msg: string }> {
  const { stdout, stderr } = await run(
    `${statements} createLogger('demo', { level: 'info' }).error({ err }, 'failed');`,
  );
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

interface Cause {
  message: string;
  code?: string;
  cause?: Cause;
}

const messagesOf = (error: Cause | undefined): string[] => (error ? [error.message, ...messagesOf(error.cause)] : []);

test('a chain of causes in a log line ends after eight, even in a cycle', slow, async () => {
  const circle = `const err = Object.assign(new Error('a'), { code: 'A' }); err.cause = new Error('b', { cause: err });`;
  assert.deepEqual(messagesOf((await shown(circle)).err), [...'abababab', '[more causes]']);
  const chain = `let err; for (let i = 20_000; i > 0; i -= 1) err = new Error('e' + i, { cause: err });`;
  const eight = Array.from({ length: 8 }, (_, index) => `e${index + 1}`);
  assert.deepEqual(messagesOf((await shown(chain)).err), [...eight, '[more causes]']);
});

const uncaught = {
  'a promise that nobody waits for': `Promise.reject(error); setTimeout(() => log.info('later'), 60_000);`,
  'a callback': `setTimeout(() => { throw error; });`,
  'the program itself': `await Promise.reject(error);`,
};

for (const [where, statement] of Object.entries(uncaught)) {
  test(`an uncaught error from ${where} is the last line and ends the program`, async () => {
    const { status, stdout, stderr } = await run(`const log = createLogger('demo', { level: 'info' });
      endOnUncaught(process, log);
      const error = Object.assign(new TypeError('boom'), { code: 'ERR_DEMO' });
      ${statement}`);
    assert.deepEqual([status, stderr], [1, '']);
    const { level, program, err, stack } = JSON.parse(stdout);
    assert.deepEqual([level, program, err.message, err.code], ['fatal', 'demo', 'boom', 'ERR_DEMO']);
    assert.match(stack, /TypeError: boom\n +at /);
  });
}

test("an uncaught value that isn't an error is the last line as well", async () => {
  const { status, stdout } = await run(
    `endOnUncaught(process, createLogger('demo', { level: 'info' })); setTimeout(() => { throw 'boom'; });`,
  );
  assert.deepEqual([status, JSON.parse(stdout).err], [1, { message: 'boom' }]);
});

test("a log line shows an object that isn't an error and has no text", slow, async () => {
  for (const made of ['Object.create(null)', `JSON.parse('{"toString":1}')`])
    assert.deepEqual((await shown(`const err = ${made};`)).err, { message: '[object Object]' });
});

test('a log line shows the beginning of a long message', async () => {
  const error = "Object.assign(new Error('x'.repeat(60_000)), { reason: 'y'.repeat(60_000) })";
  const line = await killedAfter(`createLogger('demo', { level: 'info' }).warn({ err: ${error} }, 'failed');`);
  assert.ok(line.length < 14_000, `${line.length} characters`);
  assert.match(JSON.parse(line).err.message, /^x{4095}…$/);
});
