import { readFile } from 'node:fs/promises';
import { type DocumentOptions, type ParseOptions, parseAllDocuments, type SchemaOptions } from 'yaml';
import { yamlCause } from '../../shared/domain/syntax/yaml-words.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { Problem } from '../client/problem.ts';
import type { Host } from '../terminal/host.ts';

/** Reads the YAML documents of a file, or of stdin if its name is `-`. Throws `Problem`. */
export async function readManifest(
  file: string,
  host: Host,
  options: ParseOptions & DocumentOptions & SchemaOptions = {},
): Promise<unknown[]> {
  const text = await readFileOrInput(file, host);
  try {
    return [...parseAllDocuments(text, { ...options, logLevel: 'silent' })].map((document) => {
      const [error] = document.errors;
      if (error) throw error;
      const value: unknown = document.toJS();
      // Throws for a value that contains itself through an alias, which the API server would reject.
      JSON.stringify(value);
      return value;
    });
  } catch (error) {
    throw new Problem(`the manifest is not valid YAML: ${yamlCause(error)}`, 'ManifestInvalid', { cause: error });
  }
}

async function readFileOrInput(file: string, { input }: Host): Promise<string> {
  try {
    if (file !== '-') return await readFile(file, 'utf8');
    if (input) return await input();
  } catch (error) {
    throw new Problem(`cannot read the manifest: ${messageOf(error)}`, 'ManifestInvalid', { cause: error });
  }
  throw new Problem('stdin is not available: specify a file', 'InvalidArguments');
}
