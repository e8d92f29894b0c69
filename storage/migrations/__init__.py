"""Schema migrations, run by ``storage.schema``."""
