import { useSignal } from "@preact/signals";
import { api, blobAddress } from "../../api/client.ts";
import { Button } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { hexDump } from "../../pure/hex.ts";
import { attempt } from "../../store/actions.ts";

const IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const SOUNDS = /^audio\/[\w.+-]+$/;
const MAX_DUMPED_BYTES = 4096;

type Props = { n: number; path: string; mime: string | null };

/** The bytes of a block: an image, a sound, or a file, with their dump. */
export function BlobView({ n, path, mime }: Props) {
  const hasFailed = useSignal(false);
  const dump = useSignal<string | undefined>(undefined);
  const address = blobAddress(n, path);
  const isImage = mime !== null && IMAGES.test(mime) && !hasFailed.value;
  const showDump = async () => {
    if (dump.value !== undefined) {
      dump.value = undefined;
      return;
    }
    const bytes = await attempt(() => api.blob(n, path));
    if (bytes) {
      const isLong = bytes.length > MAX_DUMPED_BYTES;
      dump.value = hexDump(bytes.subarray(0, MAX_DUMPED_BYTES)) + (isLong ? "\n…" : "");
    }
  };
  return (
    <>
      <div class="block-bytes">
        {isImage && (
          <img
            src={address}
            alt="Content of the result"
            loading="lazy"
            onError={() => {
              hasFailed.value = true;
            }}
          />
        )}
        {mime !== null && SOUNDS.test(mime) && (
          // biome-ignore lint/a11y/useMediaCaption: a server sends no captions
          <audio controls preload="none" src={address} />
        )}
        {hasFailed.value && (
          <span class="field-fault">The bytes are not an image of the type {mime}.</span>
        )}
        <a class="button button-plain" href={address} download>
          <Icon name="save" />
          <span>Save</span>
        </a>
        <Button label="Hex" isPressed={dump.value !== undefined} onClick={() => void showDump()} />
      </div>
      {dump.value !== undefined && <pre class="raw hex">{dump.value}</pre>}
    </>
  );
}
