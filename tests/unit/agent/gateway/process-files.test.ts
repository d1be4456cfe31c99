import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { suite, test } from 'node:test';
import { handles, isNamed, parseStat, parseStatus } from '../../../../agent/gateway/process-files.ts';
import { fc } from '../../../support/property.ts';

const after = (startTicks: number | string) => `S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 ${startTicks} 1 2 3\n`;
const byte = fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code));
/** The name of a command: any bytes but NUL. */
const comm = fc.string({ unit: byte, maxLength: 15 });

suite('the state of a process', () => {
  test('is read whatever its name is', () => {
    for (const name of ['nginx', 'a b', '(a)', ') S 1 (', 'a) Z 1 2', 'x\ny', ''])
      assert.deepEqual(parseStat(`7 (${name}) ${after(42)}`), { comm: name, state: 'S', startTicks: 42 }, name);
    fc.assert(
      fc.property(comm, fc.nat(), (name, ticks) => {
        assert.deepEqual(parseStat(`7 (${name}) ${after(ticks)}`), { comm: name, state: 'S', startTicks: ticks });
      }),
    );
  });

  test("is unknown if the text isn't that of a process", () => {
    for (const text of ['', '7', '7 (a', '7 a) S', '7 (a) S 1 2', `7 (a) ${after('x')}`, `7 (a) ${after(-1)}`])
      assert.equal(parseStat(text), undefined, text);
    fc.assert(fc.property(fc.string({ unit: byte }), (text) => void parseStat(text)));
    fc.assert(fc.property(fc.string({ unit: byte }), (text) => void parseStatus(text)));
  });

  test("is that of this process in the kernel's own format", () => {
    const read = (file: string) => readFileSync(`/proc/self/${file}`, 'latin1');
    const stat = parseStat(read('stat'));
    assert.ok(stat && stat.startTicks > 0);
    assert.ok(isNamed('node', { comm: stat.comm, cmdline: read('cmdline') }));
    const onHangUp = () => {};
    const before = parseStatus(read('status'));
    process.on('SIGUSR2', onHangUp);
    const status = parseStatus(read('status'));
    process.off('SIGUSR2', onHangUp);
    assert.ok(before && status);
    assert.equal(status.uid, process.getuid?.());
    const handled = [before, status].map((each) => handles(each, constants.signals.SIGUSR2));
    assert.deepEqual(handled, [false, true]);
  });
});

test('a process handles signals that it catches, and those that it blocks and waits for', () => {
  const status = parseStatus('Name:\ta\nUid:\t0\t5\t0\t0\nSigBlk:\t0000000000000200\nSigCgt:\t8000000000000001\n');
  assert.ok(status);
  assert.equal(status.uid, 0);
  const handled = [1, 2, 9, 10, 11, 63, 64].filter((signal) => handles(status, signal));
  assert.deepEqual(handled, [1, 10, 64]);
});

suite('a process is named', () => {
  const long = 'my-long-gateway-server';
  const named: [what: string, name: string, comm: string, cmdline: string, expected: boolean][] = [
    ['by its command', 'nginx', 'nginx', 'nginx: master process /usr/sbin/nginx -g daemon off;\0', true],
    ['by its program', 'node', 'MainThread', '/usr/local/bin/node\0server.js\0', true],
    ['not by a part of its command', 'ngin', 'nginx', '/usr/sbin/nginx\0', false],
    ['not by its arguments', 'server.js', 'node', 'node\0server.js\0', false],
    ['by its truncated command', long, 'my-long-gateway', `/bin/sh\0${long}\0`, true],
    ['by its truncated command without arguments', long, 'my-long-gateway', '', true],
    ['by its whole program', long, 'my-long-gateway', `/x/${long}\0`, true],
    ['not like another one', long, 'my-long-gateway', '/x/my-long-gateway-worker\0', false],
    ['not by a shorter beginning', long, 'my-long', '/bin/sh\0', false],
    ['by a command of 15 characters', 'my-long-gateway', 'my-long-gateway', '/x/my-long-gateway-worker\0', true],
  ];
  for (const [what, name, command, cmdline, expected] of named)
    test(what, () => assert.equal(isNamed(name, { comm: command, cmdline }), expected));
});
