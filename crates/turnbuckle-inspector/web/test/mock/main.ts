// `npm run dev`: the built page with the mock, to look at.

import { startMock } from "./server.ts";

const { url } = await startMock(Number(process.env.PORT ?? 0));
console.log(url);
