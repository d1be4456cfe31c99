import { inputsHash } from '../../shared/domain/render-template.ts';
import type { DesiredFile, PreviewedContent } from '../plan/plan-input.ts';
import { type ContentSource, deliverContent } from './deliver-content.ts';

/** Content that was made for nobody: only what it is, and that it can be made, is wanted. */
const discard = async () => {};

/**
 * Finds out what files will hold, by making their content as a sync does. What was made once is remembered, so that
 * a dry run does not make it again at each look.
 */
export class ContentPreviews {
  #known = new Map<string, PreviewedContent>();

  /** By the files' paths. Throws what the making of content throws. */
  async of(files: DesiredFile[], source: ContentSource): Promise<Map<string, PreviewedContent>> {
    const fresh = new Map<string, PreviewedContent>();
    const contents = new Map<string, PreviewedContent>();
    for (const file of files) {
      const key = keyOf(file);
      const earlier = fresh.get(key) ?? this.#known.get(key);
      const isCurrent = earlier && hasSameInputs(earlier, source);
      const content = isCurrent ? earlier : await deliverContent(file, source, discard);
      fresh.set(key, content);
      contents.set(file.path, content);
    }
    this.#known = fresh;
    return contents;
  }
}

const keyOf = ({ blob, template, patches }: DesiredFile): string => `${blob} ${template} ${patches?.hash ?? ''}`;

function hasSameInputs({ inputs }: PreviewedContent, { values }: ContentSource): boolean {
  return !inputs || inputsHash(inputs.keys, values) === inputs.hash;
}
