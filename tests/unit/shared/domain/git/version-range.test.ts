import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import semver from 'semver';
import { VERSION_RANGE } from '../../../../../shared/domain/git/version-range.ts';
import { RANGES, REFUSED_RANGES } from '../../../../support/version-ranges.ts';

const isAccepted = (text: string) => new RegExp(VERSION_RANGE).test(text);
const isRange = (text: string) => semver.validRange(text) !== null;

suite('a range that the API server accepts', () => {
  test('is a range of npm', () => {
    for (const text of RANGES) assert.deepEqual([isAccepted(text), isRange(text)], [true, true], text);
    for (const text of REFUSED_RANGES) assert.ok(!isAccepted(text), text);
  });

  test('is one for all short combinations of its parts', () => {
    const parts = ['1', '01', '.', 'x', '*', '-', 'a', '+', '~', '>', '=', ' ', 'v', '||'];
    let texts = [''];
    let count = 0;
    for (let length = 1; length <= 4; length += 1) {
      texts = texts.flatMap((text) => parts.map((part) => text + part));
      for (const text of texts.filter(isAccepted)) {
        assert.ok(isRange(text), text);
        count += 1;
      }
    }
    assert.ok(count > 500, `${count} ranges`);
  });

  test('can have a prerelease of three numbers', () => {
    const prereleases = [
      ...['-0', '-01', '-a', '-0a', '--', '-a.1', '-a.01', '-a.', '-.a', '-a..b', '-1+2', '+2-1', '+', '+.', '+a.b'],
    ];
    for (const version of ['1.2.3', '1.0.0', '0.0.0', '1.2.x', '1.2', '1', '*', '1.02.3'])
      for (const end of prereleases)
        for (const operator of ['', '~', '^', '>=', '<', '1 - ']) {
          const text = `${operator}${version}${end}`;
          const isFull = /^\d+\.\d+\.\d+$/.test(version);
          assert.equal(isAccepted(text), isFull && isRange(text), text);
        }
  });
});
