import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileToCheck } from '../../agent/plan/files-to-check.ts';
import type { DesiredFile } from '../../agent/plan/plan-input.ts';
import { isBinary, MAX_RENDERED_BYTES } from '../../agent/plan/render-content.ts';
import { renderFile, tooLargeForPatch, tooLargeForTemplate } from '../../agent/plan/render-file.ts';
import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import { checkSyntax } from '../../shared/domain/syntax/check-syntax.ts';
import { describeProblem } from '../../shared/domain/syntax/syntax-problem.ts';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import type { CheckoutGit } from './checkout-git.ts';

/** Content of a file as the agent would deliver it, or the problem. */
export type DeliveredContent = { kind: 'content'; content: Buffer } | { kind: 'problem'; problem: string };

/** A checkout, and its files whose line endings git has converted to CRLF. */
export interface CheckedOut {
  directory: string;
  converted: ReadonlySet<string>;
}

/** Reads a file of a checkout, and renders it as the agent does. */
export async function readDelivered(
  { directory, converted }: CheckedOut,
  file: DesiredFile,
  values: TemplateValues,
): Promise<DeliveredContent> {
  const { source, template, patches, linkText } = file;
  if (linkText !== undefined) return { kind: 'content', content: Buffer.from(linkText) };
  const onDisk = await readFile(join(directory, source));
  if (typeof onDisk === 'string') return { kind: 'problem', problem: `${source}: ${onDisk}` };
  const read = converted.has(source) ? withoutReturns(onDisk) : onDisk;
  if (LFS_POINTER.test(read.toString('latin1', 0, 64))) return { kind: 'problem', problem: `${source}: ${NO_CONTENT}` };
  if (read.length > MAX_RENDERED_BYTES) {
    if (patches) return { kind: 'problem', problem: tooLargeForPatch(file) };
    if (template && !isBinary(read)) return { kind: 'problem', problem: tooLargeForTemplate(file) };
    return { kind: 'content', content: read };
  }
  const rendered = renderFile(read, file, values);
  return rendered.kind === 'problem' ? { kind: 'problem', problem: rendered.message } : rendered;
}

const LFS_POINTER = /^version https:\/\/git-lfs\.github\.com\/spec\//;
const NO_CONTENT = 'the checkout contains a Git LFS pointer instead of the content: run git lfs pull';

const withoutReturns = (content: Buffer): Buffer =>
  Buffer.from(content.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');

/** Returns the content, or the cause of an error. Doesn't follow a link, which git wouldn't have checked out. */
async function readFile(path: string): Promise<Buffer | string> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    return await file.readFile();
  } catch (error) {
    return causeOf(error);
  }
}

/** Returns the problems that the checks find in the content of a file. */
export const checkContent = (content: Buffer, { file, formats }: FileToCheck): string[] =>
  formats.flatMap((format) => {
    const problem = checkSyntax(content, format);
    return problem ? [`${file.source}: ${describeProblem(problem)}`] : [];
  });

/**
 * Lists the files that have CRLF on disk because git converts their line endings. An agent delivers LF. Files of
 * submodules aren't included.
 */
export async function listConverted(git: CheckoutGit): Promise<Set<string>> {
  const output = await git.text(['ls-files', '-z', '--eol']);
  return new Set(output.split('\0').flatMap((record) => CONVERTED.exec(record)?.[1] ?? []));
}

/** LF in the index, CRLF on disk, and attributes that don't turn off conversion; then the path. */
const CONVERTED = /^i\/lf +w\/(?:crlf|mixed) +attr\/(?!-text)[^\t]*\t(.*)$/s;
