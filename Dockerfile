# Logician in one container: `docker build -t logician .`, then
# `docker run -p 8501:8501 -v logician:/data logician` prints the address with its access token.
# All state lives in /data. With --cap-add SYS_PTRACE commands get the full isolation level.
# Programs that the agent shall find: --build-arg PROGRAMS="git ripgrep".

FROM python:3.11-slim-bookworm AS build
WORKDIR /app
RUN python3 -m venv --without-pip /opt/logician
COPY requirements.txt constraints.txt ./
RUN python3 -m pip --python /opt/logician/bin/python install --no-cache-dir -r requirements.txt
COPY pyproject.toml app.py ./
COPY .streamlit/config.toml .streamlit/
COPY static static
COPY storage storage
COPY logician_graph logician_graph
COPY pages pages
# Compiled here, as the person in the container cannot write to it; without that every start would compile again.
RUN touch README.md \
    && python3 -m pip --python /opt/logician/bin/python install --no-cache-dir --no-deps -e . \
    && python3 -m compileall -q app.py logician_graph pages storage

FROM python:3.11-slim-bookworm
ARG PROGRAMS=""
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 tini ${PROGRAMS} \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home logician \
    && install -d -m 700 -o logician -g logician /data
COPY --from=build /opt/logician /opt/logician
COPY --from=build /app /app
ENV HOME=/home/logician \
    LOGICIAN_HOME=/data \
    LOGICIAN_HOST=0.0.0.0 \
    PATH=/opt/logician/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
USER 1000:1000
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["python", "-m", "logician_graph.gateway"]
# tini takes in what commands leave behind, and hands on the signal to stop.
ENTRYPOINT ["tini", "--"]
CMD ["python", "app.py"]
