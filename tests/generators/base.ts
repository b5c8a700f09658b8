import { createApi, fetchBaseQuery } from "@reduxjs/toolkit/query";

export const api = createApi({
  baseQuery: fetchBaseQuery({ baseUrl: process.env.MOCK, headers: { Authorization: `Bearer ${process.env.KEY}` } }),
  endpoints: () => ({}),
});
