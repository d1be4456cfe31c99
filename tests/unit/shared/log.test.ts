import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

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

test('a line is out before the program goes on', async () => {
  const line = await killedAfter(`createLogger('demo', { level: 'info' }).info({ count: 1 }, 'hello');`);
  const { time, ...rest } = JSON.parse(line);
  assert.deepEqual(rest, { level: 'info', program: 'demo', count: 1, msg: 'hello' });
  assert.equal(new Date(time).toISOString(), time);
});

test('a terminal obeys nothing of a line, which says the same', async () => {
  const name = 'a\\u009b31m\\u202eb\\u2028c\\u007f\\u0085\\u001b[2J';
  const line = await killedAfter(`createLogger('demo', { level: 'info' }).info({ name: '${name}' }, '${name}');`);
  assert.match(line, /^[\x20-\x7e]+\n$/);
  const { name: field, msg } = JSON.parse(line);
  assert.deepEqual([field, msg], Array(2).fill('a\u009b31m\u202eb\u2028c\u007f\u0085\u001b[2J'));
});

test('lines for people are out as early', async () => {
  const line = await killedAfter(
    `createLogger('demo', { level: 'info', devMode: true }).debug({ count: 1 }, 'hello');`,
  );
  assert.match(line, /debug.* demo: hello count=1\n$/);
});

test('what authenticates is not in a line, and of an error only what is known of it', async () => {
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

const uncaught = {
  'a promise that nobody waits for': `Promise.reject(error); setTimeout(() => log.info('later'), 60_000);`,
  'a callback': `setTimeout(() => { throw error; });`,
  'the program itself': `await Promise.reject(error);`,
};

for (const [where, statement] of Object.entries(uncaught)) {
  test(`an error that nobody catches, from ${where}, is the last line and ends the program`, async () => {
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

test('something that is no error is the last line as well', async () => {
  const { status, stdout } = await run(
    `endOnUncaught(process, createLogger('demo', { level: 'info' })); setTimeout(() => { throw 'boom'; });`,
  );
  assert.deepEqual([status, JSON.parse(stdout).err], [1, { message: 'boom' }]);
});
