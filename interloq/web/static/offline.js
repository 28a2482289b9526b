// Without a connection and without a kept page: load the page as soon as the connection is back.

import { proceed, whenBack } from './page.js';

whenBack(proceed);
