import { ApiProblem } from '../../../shared/api/client';
import { type Problem, type UploadedMembers } from '../../../shared/api/operations';

/** An upload that reports progress, which `fetch` cannot do. */

export interface Upload {
  done: Promise<UploadedMembers>;
  cancel: () => void;
}

/** The user cancelled it: nothing has changed. */
export class Cancelled extends Error {}

interface Uploading {
  id: string;
  /** PUT replaces all members; PATCH adds and removes some */
  method: 'PUT' | 'PATCH';
  body: Blob;
  /** 0 to 1, the part that has left the browser */
  onProgress: (part: number) => void;
}

/** @returns the running upload; rejects with ApiProblem if the API refuses */
export function uploadMembers({ id, method, body, onProgress }: Uploading): Upload {
  const request = new XMLHttpRequest();
  const done = new Promise<UploadedMembers>((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onload = () => {
      const answer = parsed(request.responseText);
      if (request.status === 202) resolve(answer as UploadedMembers);
      else reject(new ApiProblem(request.status, answer as Partial<Problem>));
    };
    request.onerror = () => reject(new Error('the connection broke'));
    request.onabort = () => reject(new Cancelled());
  });
  request.open(method, `/api/v1/audiences/${encodeURIComponent(id)}/members`);
  request.setRequestHeader('content-type', 'application/x-ndjson');
  request.send(body);
  return { done, cancel: () => request.abort() };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
